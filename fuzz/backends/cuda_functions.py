"""Tests NVIDIA's documented limits of float32 functions on every input, on a GPU.

python3 fuzz/backends/cuda_functions.py --touchstone build/dev/cli/touchstone [--only tanh]

Each row of cuda_limits.json is a function with its limits and their source. A kernel writes its
outputs for all 2^32 inputs to a pipe that `touchstone certify --outputs -` reads. Rows of PyTorch,
JAX and CuPy test whether their functions meet the limits of CUDA's own.
"""
import argparse
import concurrent.futures
import fcntl
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
INPUTS = 1 << 32
CHUNK = 1 << 26
KERNEL = """
extern "C" __global__ void f(unsigned first, float* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = __uint_as_float(first + i), y;
  %s;
  out[i] = y;
}
"""


def of_cuda(expression):
    """Blocks of outputs of an expression in CUDA C++, or of a line of PTX, as nvcc compiles it.

    Does not use CuPy's compiler, which flushes subnormal numbers (-ftz=true)."""
    import cupy
    body = f"y = {expression}"
    if expression.endswith(";"):
        body = 'asm("' + expression.replace("Y", "%0").replace("X", "%1") + '" : "=f"(y) : "f"(x))'
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = os.path.join(folder, "f.cu"), os.path.join(folder, "f.cubin")
        pathlib.Path(source).write_text(KERNEL % body)
        subprocess.run(["nvcc", "-cubin", "-arch=sm_" + cupy.cuda.Device().compute_capability,
                        "-o", cubin, source], check=True)
        kernel = cupy.RawModule(path=cubin).get_function("f")
    out = cupy.empty(CHUNK, "float32")

    def block(first):
        kernel((CHUNK // 256,), (256,), (np.uint32(first), out, np.uint32(CHUNK)))
        return out
    return block, lambda y, host: y.get(out=host)


def of_cupy(expression):
    import cupy

    def block(first):
        bits = cupy.arange(first, first + CHUNK, dtype=cupy.uint64).astype(cupy.uint32)
        return eval(expression, {"cupy": cupy, "x": bits.view(cupy.float32)})  # our table's words
    return block, lambda y, host: y.get(out=host)


def of_torch(expression, made=lambda function: function):
    import torch
    function = made(eval(f"lambda x: {expression}", {"torch": torch}))

    def block(first):
        bits = torch.arange(first, first + CHUNK, dtype=torch.int64, device="cuda")
        bits = torch.where(bits >= 1 << 31, bits - (1 << 32), bits).to(torch.int32)
        return function(bits.view(torch.float32))
    return block, lambda y, host: torch.from_numpy(host).copy_(y)


def of_compile(expression):
    import torch
    return of_torch(expression, torch.compile)


def of_jax(expression):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp
    function = eval(f"lambda x: {expression}", {"jax": jax, "jnp": jnp})

    @jax.jit
    def all_of(first):
        bits = first + jax.lax.iota(jnp.uint32, CHUNK)
        return function(jax.lax.bitcast_convert_type(bits, jnp.float32))
    return (lambda first: all_of(jnp.uint32(first)),
            lambda y, host: np.copyto(host, np.asarray(y)))


MAKERS = {"cuda": of_cuda, "cupy": of_cupy, "torch": of_torch, "compile": of_compile,
          "jax": of_jax}


def write_outputs(row, file):
    """Writes all outputs of a row to an open file, in the order of the inputs' bits."""
    block, to_host = MAKERS[row["of"]](row["call"])
    host = np.empty(CHUNK, np.float32)
    for first in range(0, INPUTS, CHUNK):
        to_host(block(first), host)
        left = memoryview(host).cast("B")
        while left:
            left = left[os.write(file, left[:1 << 24]):]


def certify(row, options):
    """touchstone certify's record of a row; a separate process makes the outputs."""
    words = [options.touchstone, "certify", row["op"], "float32", "--outputs", "-", "--out", "-"]
    words += ["--threads", str(options.threads)]
    words += [word for limit in row["limits"] for word in ("--limit", limit)]
    words += ["--flush"] if row.get("flush") else []
    maker = subprocess.Popen([sys.executable, __file__, "--make", json.dumps(row)],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    fcntl.fcntl(maker.stdout, fcntl.F_SETPIPE_SZ, 1 << 20)
    done = subprocess.run(words, stdin=maker.stdout, capture_output=True, text=True)
    maker.stdout.close()
    said = maker.stderr.read().decode()
    maker.wait()
    try:
        return row, json.loads(done.stdout), ""
    except ValueError:
        return row, None, (done.stderr.strip() or said.strip()).splitlines()[-1][:200]


def unit(limit, value):
    if value is None:
        return "NaN, infinity or a number where none should be"
    if limit.startswith("steps") or value == 0:
        return f"{value:g}"
    return f"2^{np.log2(value):.2f}"


def print_row(row, record, fault):
    name = f"`{row['call'].rstrip(';').replace(' Y, X', '')}`"
    name += "" if row["of"] == "cuda" else f", {row['of']}"
    name += ", flushed" if row.get("flush") and row["of"] != "cuda" else ""
    if record is None:
        print(f"| {name} | | | | {fault.strip()} |", flush=True)
        return
    for i, limit in enumerate(record["limits"]):
        verdict = "holds" if limit["beyond"] == 0 else (
            f"**{limit['beyond']:,} beyond**, first {limit['first_beyond_at']}")
        print(f"| {name if i == 0 else ''} | {limit['limit']} | {limit['judged']:,} | {verdict} | "
              f"{unit(limit['limit'], limit['largest'])} at {limit['largest_at']} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--touchstone", default="touchstone")
    parser.add_argument("--limits", default=str(HERE / "cuda_limits.json"))
    parser.add_argument("--only", help="only rows whose calls contain one of these words")
    parser.add_argument("--of", help="only rows of these libraries, as cuda,jax")
    parser.add_argument("--skip", help="skip rows whose calls contain one of these words")
    parser.add_argument("--threads", type=int, default=8, help="threads of each certify")
    parser.add_argument("--together", type=int, default=2, help="simultaneous rows")
    parser.add_argument("--make", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        return write_outputs(json.loads(options.make), sys.stdout.fileno())
    rows = json.loads(pathlib.Path(options.limits).read_text())["functions"]
    if options.only:
        rows = [r for r in rows if any(word in r["call"] for word in options.only.split(","))]
    if options.of:
        rows = [r for r in rows if r["of"] in options.of.split(",")]
    if options.skip:
        rows = [r for r in rows if not any(word in r["call"] for word in options.skip.split(","))]
    print("| | documented | inputs | | largest |\n|---|---|---|---|---|", flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.together) as pool:
        for result in pool.map(lambda row: certify(row, options), rows):
            print_row(*result)


if __name__ == "__main__":
    sys.exit(main())
