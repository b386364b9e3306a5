"""PyTorch, torch.compile, JAX and CuPy on a GPU: a backend over the line protocol of
docs/backends.md, or outputs for suites of `touchstone emit`, all in one start.

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


PLAIN = {"EXP2": "exp2", "LOG2": "log2", "SIN": "sin", "SQRT": "sqrt", "RECIP": "reciprocal",
         "ADD": "add", "MUL": "multiply", "MAX": "maximum", "CMPLT": "less", "XOR": "bitwise_xor",
         "WHERE": "where"}  # ops by the name that all libraries give them


class NumPyLike:
    """A library with NumPy's names, `numpy`; `types` has those that NumPy lacks."""
    types = title = None
    refusals = (RuntimeError, TypeError, NotImplementedError, ValueError, AssertionError)

    def __init__(self, options, numpy, quotient, remainder):
        def is_bool(x):
            return str(x.dtype).endswith("bool")
        self.options, self.numpy = options, numpy
        self.ops = {op: getattr(numpy, name) for op, name in PLAIN.items()} | {
            "NOOP": lambda x: x, "NEG": lambda x: ~x if is_bool(x) else -x, "MOD": remainder,
            "DIV": quotient, "SUB": lambda a, b: a ^ b if is_bool(a) else a - b,
            "CMPEQ": lambda a, b: a == b, "MULACC": lambda a, b, c: a * b + c,
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
        return self.placed(np.frombuffer(data, self.dtype(name)).reshape(shape))

    def placed(self, x):
        """An array of NumPy as one of the library, on its device."""
        return self.numpy.asarray(x)

    def host(self, x):
        return np.asarray(x)

    def bytes(self, x, name):
        return self.host(self.typed(x, name)).tobytes()

    def typed(self, x, name):
        return self.numpy.asarray(x).astype(self.dtype(name))

    def looked_up(self, flat, at, valid):
        if at.size == 0:
            return flat[:0].reshape(at.shape)
        shown = flat[self.placed(at)]
        return shown if valid.all() else self.masked(shown, self.placed(valid))

    def masked(self, x, valid):
        return self.numpy.where(valid, x, self.numpy.zeros((), x.dtype))

    def full(self, value, name):
        return self.numpy.full((1,), value, self.dtype(name))

    def cast(self, x, name):
        if name.startswith("float8") and self.options.float8_overflow == "saturate":
            most = 448 if name == "float8_e4m3" else 57344
            x = self.numpy.clip(x, -most, most)
        return self.typed(x, name)

    def bitcast(self, x, name):
        return self.numpy.ascontiguousarray(x).view(self.dtype(name))

    def sum(self, x, axes, accumulator):  # without axes PyTorch reduces all of them
        return self.numpy.sum(x, axis=tuple(axes), keepdims=True,
                              dtype=self.dtype(accumulator)) if axes else x

    def max(self, x, axes):
        greatest = self.numpy.any if x.dtype == bool else self.numpy.amax
        return greatest(x, axis=tuple(axes), keepdims=True) if axes else x

    def made(self, function):
        return function

    def scattered(self, value, at):
        out = self.numpy.empty_like(value.reshape(-1))
        out[self.placed(at)] = value.reshape(-1)
        return out


class Torch(NumPyLike):
    """PyTorch's own kernels, one call per operation."""
    name, title = "torch", "PyTorch"

    def __init__(self, options):
        import torch
        self.torch = t = torch
        self.version = torch.__version__
        self.device = "cuda" if options.device == "cuda" else "cpu"
        super().__init__(options, torch, lambda a, b: t.div(
            a, b, rounding_mode=None if a.is_floating_point() else "trunc"), t.fmod)
        self.ops["MULACC"] = lambda a, b, c: t.addcmul(c, a, b)
        self.words = {"torch": t, "F": t.nn.functional, "np": np, "device": self.device}

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
        return self.placed(np.frombuffer(data, np.uint8)).view(self.dtype(name)).reshape(shape)

    def placed(self, x):
        return self.torch.from_numpy(np.array(x)).to(self.device)

    def host(self, x):
        return x.detach().contiguous().reshape(-1).view(self.torch.uint8).cpu().numpy()

    def typed(self, x, name):
        return x.to(self.dtype(name))

    def masked(self, x, valid):
        return x.masked_fill(~valid, 0)

    def full(self, value, name):
        return self.torch.tensor([value], dtype=self.dtype(name), device=self.device)

    def bitcast(self, x, name):
        return x.view(self.dtype(name))

    def function(self, name):
        functional = self.torch.nn.functional
        if name.startswith("gelu"):
            return functools.partial(
                functional.gelu, approximate="tanh" if name == "gelu_tanh" else "none")
        return getattr(self.torch, name, None) or getattr(functional, name, None)


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
            if valid.all() and np.array_equal(at.reshape(-1), np.arange(len(flat))):
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

    @contextlib.contextmanager
    def refusing(self):
        try:
            yield
        except self.library.refusals as why:
            lines = str(why).splitlines()
            raise Unsupported(
                f"{self.library.name} refuses: {lines[0] if lines else why!r}") from None

    def kept_for(self, key, make):
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def run(self, kernel, dtypes, inputs):
        """The output of a kernel, node by node or compiled as a whole, in bytes."""
        lib, nodes = self.library, kernel["nodes"]
        key = json.dumps([nodes, dtypes, vars(lib.options)], sort_keys=True, default=str)
        with self.refusing():
            arrays = [lib.array(data, name, (len(data) // BYTES[name],))
                      for data, name in zip(inputs, dtypes)]
            value = self.kept_for(key, lambda: self.function_of(kernel))(*arrays)
            at, _ = flat_indices(nodes[-1]["arg"]["views"])
            if not np.array_equal(at.reshape(-1), np.arange(at.size)):
                value = lib.scattered(value, at.reshape(-1))
            return lib.bytes(value, nodes[-1]["dtype"])

    def call(self, expression, shapes, kernel, arrays):
        """The output of an expression in the library's words; x1, x2, ... are the inputs."""
        lib = self.library
        if shapes:  # emit writes inputs without theirs
            arrays = [(data, name, tuple(to)) for (data, name, _), to in zip(arrays, shapes)]
        code = f"lambda {', '.join(f'x{i + 1}' for i in range(len(arrays)))}: {expression}"
        key = (code, str(vars(lib.options)), tuple((name, shape) for _, name, shape in arrays))
        with self.refusing():  # refuses what our own table refuses, in the same words
            made = self.kept_for(key, lambda: lib.made(eval(code, dict(lib.words))))
            return lib.bytes(made(*(lib.array(*a) for a in arrays)), kernel["nodes"][-1]["dtype"])


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
