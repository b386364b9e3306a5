#!/bin/sh
# Drawn kernels on every engine that is installed: sh try_engines.sh [TOUCHSTONE] [CASES] [DEVICE], in the repository's root.
# Prints three lines an engine. Without a program touchstone that runs here: sh try_engines.sh SUITE, a folder written by
#   touchstone emit SUITE --suite all --as onnx,torch,jax
# whose outputs are judged elsewhere: touchstone judge SUITE --out out-ENGINE.npy
here=$(dirname "$0") what=${1:-build/dev/cli/touchstone} cases=${2:-1000} device=${3:-cpu}
python=${PYTHON:-python3}
for engine in onnxruntime torch torch-inductor jax; do
  package=${engine%-inductor}
  $python -c "import $package" 2>/dev/null || { echo "== $engine: not installed"; continue; }
  echo "== $engine $($python -c "import $package; print($package.__version__)")"
  command="$python -W ignore $here/emitted_backend.py $engine --device $device"
  if [ -d "$what" ]; then
    $command --suite "$what" --out "out-$engine.npy" 2>&1 | sed 's/^[^:]*: //' | sort | uniq -c | sort -rn | head -6
  else
    out=$(mktemp -d)
    "$what" judge --backend "$command" --memory 0 --timeout 120 --ops add,exp2,mod,where,reduce_sum 2>&1 | grep -v '^ *$' | tail -4 | cut -c1-300
    "$what" fuzz --area kernel --backend "$command" --memory 0 --timeout 240 --cases "$cases" --jobs 4 --findings "$out" 2>&1 |
      grep -E "FAIL|cases|checked|unsupported|legal" | cut -c1-300 | head -12
  fi
done
if $python -c "import torch; torch.compile" 2>/dev/null; then
  echo "== touchstone.torch.compiled, torch.export"
  $python -W ignore - <<'END' 2>&1 | tail -4
import torch, touchstone.torch
backend = touchstone.torch.compiled("inductor", raises=False)
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4), torch.nn.Softmax(-1)).eval()
x = torch.randn(8, 16)
with torch.no_grad():
    torch.compile(net, backend=backend)(x)
    print(*backend.seen.operations, dict(backend.seen.unjudged))
    print("torch.export:", touchstone.torch.judge(torch.export.export(net, (x,)), x, actual=net(x)))
END
fi
