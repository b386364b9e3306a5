"""Other packages, judged: python -m touchstone.judge numpy --ops exp2,matmul

An adapter is a module with an Adapter class, below; requesting one whose package is not installed is an error. All but
tinygrad's were run against the packages (docs/measured/frameworks.md); tinygrad no longer has the interface of version
0.8, for which its adapter is written and tested with a stand-in. An adapter's declarations are its compiler's documented
behaviour, or results of these runs.
"""
import importlib
import inspect
import random

NAMES = ("numpy", "torch", "jax", "cupy", "onnxruntime", "tinygrad")

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


def load(name, **options):
    """The adapter of that name. Raises ImportError if its package is missing, ValueError for an unknown name, TypeError for
    an unknown option."""
    if name not in NAMES:
        raise ValueError(f"there is no adapter '{name}'; choose from: {', '.join(NAMES)}")
    made = importlib.import_module("." + name, __name__).Adapter
    for option in options:
        if option not in inspect.signature(made).parameters:
            raise TypeError(f"the adapter takes no option {option}")
    return made(**options)


def judge(adapter, op, *, dtype="float32", profile=None, seed=0, number=0):
    """The verdict on an adapter's operation, on inputs of every family that shows its faults. number: see case_of."""
    from .. import kernel
    from .._judging import kernel_of_shapes, profile_for
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
