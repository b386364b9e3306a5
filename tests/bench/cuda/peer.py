"""PyTorch beside cuda_bench: the same kernels with the same timing, a JSON line each.

python3 tests/bench/cuda/peer.py
"""
import json
import statistics
import time

import torch
import torch.nn.functional as F


def milliseconds(way, turns=21):
    """The median of 21 runs after three warm-ups, including the wait for the GPU."""
    times = []
    for turn in range(turns + 3):
        begin = time.perf_counter()
        way()
        torch.cuda.synchronize()
        if turn >= 3:
            times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e3


def drawn(*shape):
    return torch.rand(shape, device="cuda") * 2 - 1


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                      "cuda": torch.version.cuda}))
    wide, rows, square = drawn(1 << 28), drawn(16384, 4096), drawn(16384, 16384)
    other, out = drawn(1 << 28), torch.empty(1 << 28, device="cuda")
    one, a, b = drawn(1), drawn(4096, 4096), drawn(4096, 4096)
    ways = {
        "copy of 1 GiB": lambda: out.copy_(wide),
        "x[1] + 1": lambda: one + 1,
        "x[2^28] + 1": lambda: wide + 1,
        "x[2^28] * y": lambda: wide * other,
        "exp(x[2^28])": lambda: torch.exp(wide),
        "softmax(x[16384,4096])": lambda: torch.softmax(rows, 1),
        "softmax(x[16384,4096]), compiled": torch.compile(lambda: torch.softmax(rows, 1)),
        "layer_norm(x[16384,4096])": lambda: F.layer_norm(rows, (4096,)),
        "sum of rows": lambda: square.sum(1),
        "sum of columns": lambda: square.sum(0),
        "max of rows": lambda: square.amax(1),
        "sum(x[2^28])": wide.sum,
        **{f"sum(x[10^{n}])": drawn(10 ** n).sum for n in range(3, 9)},
        "matmul 4096": lambda: a @ b,
    }
    for name, way in ways.items():
        print(json.dumps({"kernel": name, "ms": round(milliseconds(way), 4)}), flush=True)


if __name__ == "__main__":
    main()
