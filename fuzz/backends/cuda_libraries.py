"""PyTorch, torch.compile, JAX and CuPy on a GPU: a backend over the line protocol of
docs/backends.md, or outputs for suites of `touchstone emit`, all in one start. torch_backend.py is
its PyTorch on the CPU.

touchstone judge --backend 'python3 fuzz/backends/cuda_libraries.py --library jax' --memory 0
python3 fuzz/backends/cuda_libraries.py --library torch --suite SUITE --out torch.npy

--device cpu runs the same on the host, with NumPy instead of CuPy.
"""
import argparse
import contextlib
import functools
import io
import json
import os
import pathlib
import sys
import time

import numpy as np

import line_protocol
from line_protocol import Unsupported, constant, flat_indices

BYTES = {"bool": 1, "int8": 1, "uint8": 1, "float8_e4m3": 1, "float8_e5m2": 1, "int16": 2,
         "uint16": 2, "float16": 2, "bfloat16": 2, "int32": 4, "uint32": 4, "float32": 4,
         "int64": 8, "uint64": 8, "float64": 8}
THEIRS = {"float8_e4m3": "float8_e4m3fn"}  # the other names are the same everywhere
FLOATS = [name for name in BYTES if "float" in name]


class Torch:
    """PyTorch's own kernels, one call per operation."""
    name = "torch"

    def __init__(self, options):
        import torch
        self.torch, self.options = torch, options
        self.version = torch.__version__
        self.device = "cuda" if options.device == "cuda" else "cpu"
        t = torch
        self.ops = {
            "NOOP": lambda x: x, "EXP2": t.exp2, "LOG2": t.log2, "SIN": t.sin, "SQRT": t.sqrt,
            "RECIP": t.reciprocal, "NEG": lambda x: ~x if x.dtype == t.bool else t.neg(x),
            "ADD": t.add, "MUL": t.mul, "MAX": t.maximum, "MOD": t.fmod,
            "DIV": lambda a, b: t.div(
                a, b, rounding_mode=None if a.is_floating_point() else "trunc"),
            "SUB": lambda a, b: a ^ b if a.dtype == t.bool else t.sub(a, b),
            "CMPLT": t.lt, "CMPEQ": t.eq, "XOR": t.bitwise_xor,
            "MULACC": lambda a, b, c: t.addcmul(c, a, b), "WHERE": t.where,
        }
        self.words = {"torch": t, "F": t.nn.functional, "np": np, "device": self.device}
        self.refusals = (RuntimeError, TypeError, NotImplementedError, AssertionError)

    def settle(self, options):
        backends = self.torch.backends
        flags = [(backends.cuda.matmul, "allow_tf32", options.tf32),
                 (backends.cudnn, "allow_tf32", options.tf32),
                 (backends.cuda.matmul, "allow_fp16_accumulation", options.fp16_accumulate)]
        flags += [(backends.cuda.matmul, f"allow_{kind}_reduced_precision_reduction",
                   options.reduced_sums) for kind in ("fp16", "bf16")]
        for owner, flag, value in flags:
            try:
                setattr(owner, flag, value)
            except (AssertionError, AttributeError):  # an older PyTorch
                if value:
                    raise Unsupported(f"this PyTorch has no {flag}") from None
        self.options = options

    def dtype(self, name):
        dtype = getattr(self.torch, THEIRS.get(name, name), None)
        if not isinstance(dtype, self.torch.dtype):
            raise Unsupported(f"PyTorch has no {name}")
        return dtype

    def array(self, data, name, shape):
        t, dtype = self.torch, self.dtype(name)
        raw = t.frombuffer(bytearray(data), dtype=t.uint8) if data else t.empty(0, dtype=t.uint8)
        return raw.to(self.device).view(dtype).reshape(shape)

    def bytes(self, x, name):
        t = self.torch
        x = x.detach().to(self.dtype(name)).contiguous().reshape(-1)
        return x.view(t.uint8).cpu().numpy().tobytes()

    def from_host(self, indices):
        return self.torch.from_numpy(np.ascontiguousarray(indices)).to(self.device)

    def looked_up(self, flat, at, valid):
        if at.size == 0:
            return flat[:0].reshape(at.shape)
        shown = flat[self.from_host(at.reshape(-1))].reshape(at.shape)
        return shown if valid.all() else shown.masked_fill(self.from_host(~valid), 0)

    def full(self, value, name):
        return self.torch.tensor([value], dtype=self.dtype(name), device=self.device)

    def cast(self, x, name):
        x = x.to(self.dtype(name)) if not self.saturates(name) else self.clipped(x, name)
        return x

    def saturates(self, name):
        return name.startswith("float8") and self.options.float8_overflow == "saturate"

    def clipped(self, x, name):
        most = 448 if name == "float8_e4m3" else 57344
        return self.torch.clamp(x, -most, most).to(self.dtype(name))

    def bitcast(self, x, name):
        return x.view(self.dtype(name))

    # Without axes PyTorch reduces all of them.
    def sum(self, x, axes, accumulator):
        return x if not axes else self.torch.sum(
            x, dim=axes, keepdim=True, dtype=self.dtype(accumulator))

    def max(self, x, axes):
        return self.torch.amax(x, dim=axes, keepdim=True) if axes else x

    def function(self, name):
        functional = self.torch.nn.functional
        if name.startswith("gelu"):
            return functools.partial(
                functional.gelu, approximate="tanh" if name == "gelu_tanh" else "none")
        return getattr(self.torch, name, None) or getattr(functional, name, None)

    def made(self, function):
        return function

    def scattered(self, value, at):
        out = self.torch.empty(at.size, dtype=value.dtype, device=self.device)
        out[self.from_host(at)] = value.reshape(-1)
        return out


class Compile(Torch):
    """The same through torch.compile: Inductor's kernels, fused as it chooses."""
    name = "torch.compile"

    def __init__(self, options):
        super().__init__(options)
        self.torch._dynamo.config.cache_size_limit = 4096
        self.torch._dynamo.config.recompile_limit = 4096

    def made(self, function):
        return self.torch.compile(function, dynamic=False)


class Triton(Torch):
    """Kernels of cuda_triton.py, for calls only."""
    name = "triton"

    def __init__(self, options):
        super().__init__(options)
        import triton
        import cuda_triton
        self.version = triton.__version__
        self.words["kernels"] = cuda_triton


class NumPyLike:
    """A library with NumPy's names, `numpy`; `types` has those that NumPy lacks."""
    types = title = None
    refusals = (RuntimeError, TypeError, NotImplementedError, ValueError)

    def __init__(self, options, numpy, quotient, remainder):
        self.options, self.numpy = options, numpy
        n = numpy
        self.ops = {
            "NOOP": lambda x: x, "EXP2": n.exp2, "LOG2": n.log2, "SIN": n.sin, "SQRT": n.sqrt,
            "RECIP": n.reciprocal, "NEG": lambda x: ~x if x.dtype == bool else -x,
            "ADD": n.add, "MUL": n.multiply, "MAX": n.maximum, "MOD": remainder, "DIV": quotient,
            "SUB": lambda a, b: a ^ b if a.dtype == bool else a - b,
            "CMPLT": n.less, "CMPEQ": n.equal, "XOR": n.bitwise_xor,
            "MULACC": lambda a, b, c: a * b + c, "WHERE": n.where,
        }

    def settle(self, options):
        self.options = options

    def dtype(self, name):
        theirs = THEIRS.get(name, name)
        try:
            return np.dtype(getattr(self.types, theirs, theirs))
        except TypeError:
            raise Unsupported(f"{self.title or self.name} has no {name}") from None

    def array(self, data, name, shape):
        return self.numpy.asarray(np.frombuffer(data, self.dtype(name)).reshape(shape))

    def bytes(self, x, name):
        return self.host(self.numpy.asarray(x).astype(self.dtype(name))).tobytes()

    def host(self, x):
        return np.asarray(x)

    def looked_up(self, flat, at, valid):
        n = self.numpy
        if at.size == 0:
            return n.zeros(at.shape, flat.dtype)
        shown = flat[n.asarray(at)]
        return shown if valid.all() else n.where(n.asarray(valid), shown, n.zeros((), flat.dtype))

    def full(self, value, name):
        return self.numpy.full((1,), value, self.dtype(name))

    def cast(self, x, name):
        if name.startswith("float8") and self.options.float8_overflow == "saturate":
            most = 448 if name == "float8_e4m3" else 57344
            x = self.numpy.clip(x, -most, most)
        return x.astype(self.dtype(name))

    def bitcast(self, x, name):
        return self.numpy.ascontiguousarray(x).view(self.dtype(name))

    def sum(self, x, axes, accumulator):
        return self.numpy.sum(x, axis=tuple(axes), keepdims=True, dtype=self.dtype(accumulator))

    def max(self, x, axes):
        greatest = self.numpy.any if x.dtype == bool else self.numpy.max
        return greatest(x, axis=tuple(axes), keepdims=True)

    def made(self, function):
        return function

    def scattered(self, value, at):
        out = self.numpy.empty(at.size, value.dtype)
        out[self.numpy.asarray(at)] = value.reshape(-1)
        return out


class Jax(NumPyLike):
    """JAX: one jitted function per kernel, compiled by XLA."""
    name, title = "jax", "JAX"

    def __init__(self, options):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        if options.device == "cpu":
            os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        import jax.numpy as jnp
        import ml_dtypes
        jax.config.update("jax_enable_x64", True)
        self.jax, self.types, self.version = jax, ml_dtypes, jax.__version__
        super().__init__(options, jnp, jax.lax.div, jax.lax.rem)
        self.words = {"jax": jax, "jnp": jnp, "lax": jax.lax, "np": np}

    def settle(self, options):
        self.jax.config.update("jax_default_matmul_precision", options.precision)
        self.options = options

    def bitcast(self, x, name):
        return self.jax.lax.bitcast_convert_type(x, self.dtype(name))

    def made(self, function):
        return self.jax.jit(function)

    def scattered(self, value, at):
        return self.numpy.zeros(at.size, value.dtype).at[at].set(value.reshape(-1))


class CuPy(NumPyLike):
    """CuPy, whose functions are separate kernels; NumPy on the host."""
    name = "cupy"
    refusals = (*NumPyLike.refusals, AttributeError)

    def __init__(self, options):
        cupy = np
        if options.device == "cuda":
            import cupy
        else:
            self.name = "numpy"
        self.words, self.version = {"cupy": cupy, "np": np}, cupy.__version__
        if cupy is not np:
            with contextlib.suppress(ImportError):
                import cupyx.scipy.special
                self.words["special"], self.words["cupyx"] = cupyx.scipy.special, cupyx
        super().__init__(options, cupy, self.quotient, self.remainder)

    def quotient(self, a, b):
        if a.dtype.kind not in "iu":  # bfloat16's is V
            return self.numpy.divide(a, b)
        down = a // b
        return down + ((down * b != a) & ((a < 0) != (b < 0))).astype(a.dtype)

    def remainder(self, a, b):
        floats = a.dtype.kind not in "iu"
        return self.numpy.fmod(a, b) if floats else a - self.quotient(a, b) * b

    def host(self, x):
        return x if self.numpy is np else self.numpy.asnumpy(x)


LIBRARIES = {"torch": Torch, "compile": Compile, "triton": Triton, "jax": Jax, "cupy": CuPy}


class Runner:
    """Runs kernels and calls on one library; caches compiled kernels."""

    def __init__(self, library):
        self.library, self.kept = library, {}

    def node(self, node, src, buffers):
        lib, arg = self.library, node.get("arg")
        op, dtype = node["op"], node["dtype"]
        if op == "LOAD":
            at, valid = flat_indices(arg["views"])
            flat = buffers[arg["buffer"]]
            if valid.all() and np.array_equal(at.reshape(-1), np.arange(flat.size
                                              if not hasattr(flat, "numel") else flat.numel())):
                return flat.reshape(at.shape)
            return lib.looked_up(flat, at, valid)
        if op == "CONST":
            return lib.looked_up(lib.full(constant(node), dtype), *flat_indices(arg["views"]))
        if op == "CAST":
            return lib.bitcast(src[0], dtype) if arg["bitcast"] else lib.cast(src[0], dtype)
        if op == "REDUCE_SUM":
            return lib.sum(src[0], arg["axes"], arg["accumulator"])
        if op == "REDUCE_MAX":
            return lib.max(src[0], arg["axes"])
        if op == "FUNCTION" and hasattr(lib, "function"):
            function = lib.function(arg["function"])
        else:
            function = lib.ops.get(op)
        if function is None:
            raise Unsupported(f"no {op} here")
        return function(*src)

    def function_of(self, kernel):
        nodes, lib = kernel["nodes"], self.library
        types = [lib.dtype(node["dtype"]) for node in nodes]

        def function(*inputs):
            buffers, values = [None, *inputs], []
            for node, dtype in zip(nodes[:-1], types):
                value = self.node(node, [values[i] for i in node["src"]], buffers)
                same = value.dtype == dtype
                values.append(value if same else lib.cast(value, node["dtype"]))
            return values[nodes[-1]["src"][0]]

        return lib.made(function)

    def run(self, kernel, dtypes, inputs):
        """The output of a kernel, node by node or compiled as a whole, in bytes."""
        lib, nodes = self.library, kernel["nodes"]
        key = json.dumps([nodes, dtypes, vars(lib.options)], sort_keys=True, default=str)
        try:
            arrays = [lib.array(data, name, (len(data) // BYTES[name],))
                      for data, name in zip(inputs, dtypes)]
            if key not in self.kept:
                self.kept[key] = self.function_of(kernel)
            value = self.kept[key](*arrays)
            at, _ = flat_indices(nodes[-1]["arg"]["views"])
            if not np.array_equal(at.reshape(-1), np.arange(at.size)):
                value = lib.scattered(value, at.reshape(-1))
            return lib.bytes(value, nodes[-1]["dtype"])
        except lib.refusals as why:
            lines = str(why).splitlines()
            raise Unsupported(f"{lib.name} refuses: {lines[0] if lines else why!r}") from None

    def call(self, expression, shapes, kernel, arrays):
        """The output of an expression in the library's words; x1, x2, ... are the inputs."""
        lib = self.library
        if shapes:  # emit writes inputs without theirs
            arrays = [(data, name, tuple(to)) for (data, name, _), to in zip(arrays, shapes)]
        try:
            names = [f"x{i + 1}" for i in range(len(arrays))]
            key = (expression, str(vars(lib.options)),
                   tuple((name, shape) for _, name, shape in arrays))
            if key not in self.kept:
                code = f"lambda {', '.join(names)}: {expression}"
                self.kept[key] = lib.made(eval(code, dict(lib.words)))  # our own table's words
            value = self.kept[key](*(lib.array(*a) for a in arrays))
            return lib.bytes(value, kernel["nodes"][-1]["dtype"])
        except lib.refusals as why:
            lines = str(why).splitlines()
            raise Unsupported(f"{lib.name} refuses: {lines[0] if lines else why!r}") from None


def flags(parser):
    parser.add_argument("--tf32", action="store_true", help="PyTorch: TF32 in products, cuDNN")
    parser.add_argument("--reduced-sums", action="store_true",
                        help="PyTorch: float16 and bfloat16 products may sum in them")
    parser.add_argument("--fp16-accumulate", action="store_true",
                        help="PyTorch: float16 products accumulate in float16")
    parser.add_argument("--precision", help="JAX: default, high, highest, tensorfloat32, ...")
    parser.add_argument("--float8-overflow", choices=["as it is", "saturate"], default="as it is",
                        help="clip before a cast to an 8-bit float")


def options_of(words, device):
    parser = argparse.ArgumentParser(add_help=False)
    flags(parser)
    options = parser.parse_args(words)
    options.device = device
    return options


def answer_suite(runner, suite, out, expression=None, shapes=None):
    """Writes `out` beside the inputs of each kernel of a suite; yields (folder, reason) of failures."""
    for path in sorted(pathlib.Path(suite).glob("**/kernel.json")):
        kernel = json.loads(path.read_text())
        try:
            arrays = line_protocol.inputs_of(path.parent, kernel)
            if expression:
                output = runner.call(expression, shapes, kernel, arrays)
            else:
                output = runner.run(kernel, [a[1] for a in arrays], [a[0] for a in arrays])
            line_protocol.write_output(path.parent / out, kernel, output)
            yield path.parent.name, ""
        except Unsupported as why:
            yield path.parent.name, str(why)
        except Exception as why:  # one kernel must not cost the others
            yield path.parent.name, f"{type(why).__name__}: {why}"[:300]


def follow(runner, plan, device):
    """Prints a JSON line for each line of the plan: {"suite", "out", "call", "shapes", "options"} or
    {"run"}."""
    for text in open(plan, encoding="utf-8"):
        task = json.loads(text)
        started, said = time.monotonic(), {"task": task}
        if "run" in task:
            printed = io.StringIO()
            try:
                with contextlib.redirect_stdout(printed):
                    exec(task["run"], {})  # the league's own reproducers
            except Exception as why:
                said["error"] = f"{type(why).__name__}: {why}"[:300]
            said["printed"] = printed.getvalue()
        else:
            try:
                runner.library.settle(options_of(task.get("options", []), device))
                answers = answer_suite(runner, task["suite"], task["out"], task.get("call"),
                                       task.get("shapes"))
                said["left_out"] = {name: why for name, why in answers if why}
            except Unsupported as why:
                said["error"] = str(why)
        said["seconds"] = round(time.monotonic() - started, 2)
        print(json.dumps(said), flush=True)


def declared(library):
    """The default profile of a library. By docs/measured/league-h200.md, on all casts: a number too
    large for a float8 saturates in torch.compile and gives infinity or NaN in the others; CuPy has
    no float8."""
    if library == "cupy":
        return "cuda"
    return {"name": f"cuda as {library} has it", "base": "cuda",
            "float8_overflow": "saturates" if library == "compile" else "infinity"}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=sorted(LIBRARIES), required=True)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--profile", help="declared profile, a name or JSON [cuda, with the overflow mode of float8]")
    parser.add_argument("--suite", help="a folder of emit: write outputs beside its inputs")
    parser.add_argument("--out", default="out.npy", help="file name of each output")
    parser.add_argument("--call", help="an expression of x1, x2, ... in the notation of the library")
    parser.add_argument("--shapes", type=json.loads, help="shapes of x1, x2, ..., as [[4,3],[3]] [flat]")
    parser.add_argument("--plan", help="a file of JSON lines, one suite per line")
    flags(parser)
    options = parser.parse_args()
    library = LIBRARIES[options.library](options)
    runner = Runner(library)
    if options.plan:
        print(json.dumps({"name": library.name, "version": library.version}), flush=True)
        return follow(runner, options.plan, options.device)
    library.settle(options)
    if options.suite:
        answers = list(answer_suite(runner, options.suite, options.out, options.call,
                                    options.shapes))
        for name, why in answers:
            if why:
                print(f"{name}: {why}")
        written = sum(not why for _, why in answers)
        print(f"{written} of {len(answers)} outputs by {library.name} {library.version}")
        return None
    profile = options.profile or declared(options.library)
    if isinstance(profile, str) and profile.startswith("{"):
        profile = json.loads(profile)
    return line_protocol.serve(
        {"name": library.name, "version": library.version, "profile": profile}, runner.run)


if __name__ == "__main__":
    sys.exit(main())
