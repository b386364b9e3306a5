"""Other packages, judged: python -m touchstone.judge numpy --ops exp2,matmul

The module of a package has an Adapter class, as below; requesting one that is not installed is an error. All but
tinygrad's were run against the packages (docs/measured/frameworks.md); tinygrad no longer has the interface of version
0.8, for which its adapter is written and tested with a stand-in. An adapter's declarations are its compiler's documented
behaviour, or results of these runs.
"""
import argparse
import importlib
import inspect
import random
import sys

import numpy as np

from . import Error, kernel
from ._judging import kernel_of_shapes, profile_for

# The module of touchstone, and its class, of each package.
_PLACES = {"numpy": ("adapters", "NumPy"), "torch": ("torch", "Adapter"), "jax": ("jax", "Adapter"), "cupy": ("adapters", "CuPy"),
           "onnxruntime": ("onnx", "Adapter"), "tinygrad": ("tinygrad", "Adapter")}
NAMES = tuple(_PLACES)


def _row(d, **attributes):
    return [(d(16, 1, 2, 7), d(100, 1, 2, 3, 17, 33, 64, 257))], attributes or {"axis": d(1, 0, -1)}


def _norm(d, others):
    x = (d(16, 1, 3), d(33, 1, 2, 8, 64, 100))
    return [x, *[x[1:]] * others], {}


def _channels(d, others, **attributes):
    channels = d(8, 2, 4, 6)
    return [(d(3, 1, 2), channels, d(15, 1, 2, 64)), *[(channels,)] * others], attributes


def _conv(d, axes):
    part, out, window = d(3, 1, 2), d(4, 1, 5), (d(3, 1, 2),) * axes
    sizes = tuple(d(9, 3, 4, 16) for _ in range(axes))
    return [(d(2, 1), part, *sizes), (out, part, *window), (out,)], {"stride": d(1, 2), "padding": d(0, 1, 2)}


def _pool(d, axes):
    size = d(2, 1, 3)
    return [(d(2, 1), 3, *[d(8, 3, 7)] * axes)], {"size": size, "stride": d(2, 1, 3)}


def _matmul(d):
    k = d(40, 1, 2, 33, 128)
    return [(d(17, 1, 3, 64), k), (k, d(9, 1, 2, 32))], {}


def _linear(d):
    k, out = d(40, 1, 2, 33, 128), d(17, 1, 3, 64)
    return [(d(9, 1, 2, 32), k), (out, k), (out,)], {}


def _attention(d):
    size, keys, heads = d(8, 1, 3, 16, 64), d(9, 1, 2, 33), d(2, 1)
    return [(heads, d(7, 1, 16), size), (heads, keys, size), (heads, keys, d(8, 1, 16))], {}


# Shapes and attributes with which definitions are judged: d(usual, other, ...) is the usual size, or one of all. The
# other definitions are elementwise.
CASES = {
    **dict.fromkeys(("softmax", "log_softmax", "logsumexp", "sum", "mean", "max", "min", "var", "std", "cumsum"), _row),
    "layer_norm": lambda d: _norm(d, 2), "rms_norm": lambda d: _norm(d, 1),
    "batch_norm": lambda d: _channels(d, 4), "instance_norm": lambda d: _channels(d, 2),
    "group_norm": lambda d: _channels(d, 2, groups=d(2, 1)),
    "conv1d": lambda d: _conv(d, 1), "conv2d": lambda d: _conv(d, 2), "linear": _linear, "matmul": _matmul,
    "max_pool1d": lambda d: _pool(d, 1), "max_pool2d": lambda d: _pool(d, 2),
    "avg_pool1d": lambda d: _pool(d, 1), "avg_pool2d": lambda d: _pool(d, 2), "attention": _attention,
}


def case_of(op, arrays, number=0):
    """(shapes, attributes) of an operation of that many arrays: the usual ones, or those drawn for a number above 0."""
    rng = random.Random(f"{op} {number}")
    d = (lambda usual, *others: usual) if number == 0 else (lambda *all: rng.choice(all))
    if op in CASES:
        return CASES[op](d)
    return [tuple(d(500, 1, 2, 7, 65, 300) if i == 0 else rng.choice((1, 2, 3)) for i in range(d(1, 2, 3)))] * arrays, {}


class Adapter:
    """A package: its functions on its own arrays, by the names of touchstone.kernel.definitions."""
    name = ""
    declared: dict = {}  # its arithmetic: members of a profile, including "base"
    library: dict = {}  # more of them, for definitions of several operations
    functions: dict = {}
    kernels: list = []  # (kernel, verdict) of those that ran, if the package exposes them

    def to(self, array, dtype):
        """Converts a NumPy array of elements, or bits, of that type to the package's."""
        return array

    def back(self, array):
        """Converts the package's array to one on the host."""
        return array

    def run(self, op, arrays, attributes, dtype="float32"):
        return self.back(self.functions[op](*(self.to(a, dtype) for a in arrays), **attributes))


# Of both, by the names of definitions; NumPy has more.
_ALIKE = ("exp2 log2 sin sqrt recip=reciprocal neg=negative add sub=subtract mul=multiply div=divide maximum mod=fmod "
          "cmplt=less cmpeq=equal abs sum mean max min var cumsum matmul")
_MORE = ("exp log std expm1 log10 log1p tanh cos tan asin=arcsin acos=arccos atan=arctan sinh cosh asinh=arcsinh "
         "acosh=arccosh atanh=arctanh cbrt floor ceil round=rint trunc atan2=arctan2 pow=power hypot")


def _named(xp, names):
    pairs = (name.partition("=") for name in names.split())
    return {name: getattr(xp, theirs or name) for name, _, theirs in pairs}


def _rows(xp):
    def softmax(x, axis):
        e = xp.exp(x - x.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)

    def log_softmax(x, axis):
        shifted = x - x.max(axis=axis, keepdims=True)
        return shifted - xp.log(xp.exp(shifted).sum(axis=axis, keepdims=True))
    return {"softmax": softmax, "log_softmax": log_softmax}


def _quiet(function):
    def quiet(*args, **kwargs):
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)
    return quiet


class NumPy(Adapter):
    """NumPy, whose own AVX-512 code for log2 and sin has larger errors than libm."""
    name, version = "numpy", np.__version__
    declared = {"ulp": {"log2": 2, "sin": 3}, "casts_saturate": False, "zeros_alike": True}

    def __init__(self):
        table = {**_named(np, _ALIKE + " " + _MORE), **_rows(np), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
                 "relu": lambda x: np.maximum(x, x.dtype.type(0))}
        self.functions = {name: _quiet(f) for name, f in table.items()}


class CuPy(Adapter):
    """CuPy, on CUDA's current device or --device NUMBER. Its compiled functions flush subnormal numbers to zero."""
    name = "cupy"
    declared = {"base": "cuda", "flush": "both", "casts_saturate": False, "zeros_alike": True}

    def __init__(self, device=None):
        import cupy
        self.version, self.cupy = cupy.__version__, cupy
        if device is not None:
            cupy.cuda.Device(int(device)).use()
        self.functions = {**_named(cupy, _ALIKE), "softmax": _rows(cupy)["softmax"]}

    def to(self, array, dtype):
        return self.cupy.asarray(array)

    def back(self, array):
        return self.cupy.asnumpy(array)


def load(name, **options):
    """The adapter of that name. Raises ImportError if its package is missing, ValueError for an unknown name, TypeError for
    an unknown option."""
    if name not in NAMES:
        raise ValueError(f"there is no adapter '{name}'; choose from: {', '.join(NAMES)}")
    place, cls = _PLACES[name]
    made = getattr(importlib.import_module("touchstone." + place), cls)
    for option in options:
        if option not in inspect.signature(made).parameters:
            raise TypeError(f"the adapter takes no option {option}")
    return made(**options)


def judge(adapter, op, *, dtype="float32", profile=None, seed=0, number=0):
    """The verdict on an adapter's operation, on inputs of every family that shows its faults. number: see case_of."""
    if op not in kernel.definitions:
        kernel.call(op)  # throws with the nearest name
    if op not in adapter.functions:
        return None
    arrays = sum(1 for part in kernel.definitions[op][0].split("(")[1].rstrip(")").split(",") if "=" not in part)
    shapes, attributes = case_of(op, arrays, number)
    asked = kernel_of_shapes(op, shapes, dtype, attributes)
    allowed = profile_for(asked, profile, adapter.declared, adapter.library)
    verdicts = []
    for _, inputs in kernel.probes(asked, seed):
        given = [a.reshape(shape) for a, shape in zip(inputs, shapes)]
        verdicts.append(kernel.check(asked, given, adapter.run(op, given, attributes, dtype), allowed))
    return kernel.combine(verdicts)


# python -m touchstone.judge PACKAGE [--device NAME] [--ops LIST]: a line for each operation, and the worst exit code.
_CODES = {"PASS": 0, "FAIL": 1, "UNUSABLE": 2, "WEAK": 3, "SUSPECT": 5}
_WORST = (1, 2, 5, 3, 4, 0)


def _of_kernels(judged, name):
    """Prints how many kernels ran for it, and the wrong ones."""
    by_status = {}
    for kernel, verdict in judged:
        by_status.setdefault(verdict.status, []).append((kernel, verdict))
    if judged:
        print(f"{name} {len(judged)} kernels: " + ", ".join(f"{len(v)} {s}" for s, v in sorted(by_status.items())), flush=True)
    for status in ("FAIL", "SUSPECT", "UNUSABLE"):
        for kernel, verdict in by_status.get(status, [])[:1]:
            print(f"{name} {kernel.name} {verdict}", flush=True)
    return [_CODES[status] for status in by_status if status != "WEAK"]


def _of_shapes(adapter, op, dtype, asked):
    """Prints a line, the worst of all shapes; returns the exit codes."""
    lines, codes = [], []
    for number in range(asked.shapes):
        try:
            verdict = judge(adapter, op, dtype=dtype, profile=asked.profile, seed=asked.seed, number=number)
            code = 4 if verdict is None else _CODES[verdict.status]
            lines.append((code, "unsupported" if verdict is None else str(verdict), number))
        except Error:
            raise
        except Exception as why:  # the package's
            lines.append((2, f"UNUSABLE: {type(why).__name__}: {str(why).strip().partition(chr(10))[0]}", number))
        codes += _of_kernels(adapter.kernels, f"{op}-{dtype}")
        adapter.kernels = []
    code, line, number = min(lines, key=lambda found: _WORST.index(found[0]))
    wrong = sum(1 for found in lines if found[0] not in (0, 4))
    shapes = f" [{len(lines) - wrong} of {len(lines)} shapes PASS; this is shape {number}]" if asked.shapes > 1 else ""
    print(f"{op}-{dtype} {line}{shapes}", flush=True)
    return [code, *codes]


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m touchstone.judge", description="Judges the operations of a package.")
    parser.add_argument("package", choices=NAMES)
    parser.add_argument("--device", help="device, in the notation of the package [its default]")
    parser.add_argument("--ops", help="operations, as exp2,matmul [all of the adapter]")
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--profile", help="allowed arithmetic: a name or the JSON of a profile")
    parser.add_argument("--shapes", type=int, default=1, help="shapes for each operation, drawn after the first")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compile", action="store_true", help="judge the output of torch.compile")
    asked = parser.parse_args(arguments)
    if asked.shapes < 1:
        parser.error("--shapes must be at least 1")
    options = {name: getattr(asked, name) for name in ("device", "compile") if getattr(asked, name)}
    try:
        adapter = load(asked.package, **options)
    except (ImportError, TypeError) as why:
        print(f"touchstone.judge: {asked.package}: {why}", file=sys.stderr)
        return 2
    codes = []
    try:
        for op in asked.ops.split(",") if asked.ops else adapter.functions:
            for dtype in asked.dtypes.split(","):
                codes += _of_shapes(adapter, op, dtype, asked)
    except Error as why:
        print(f"touchstone.judge: {why}", file=sys.stderr)
        return 2
    return min(codes, key=_WORST.index, default=0)
