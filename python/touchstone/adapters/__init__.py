"""Other packages, judged: python -m touchstone.judge numpy --ops exp2,matmul

An adapter is a module with an Adapter class, below; requesting one whose package is not installed is an error. All but
tinygrad's were run against the packages (docs/measured/frameworks.md); tinygrad no longer has the interface of version
0.8, for which its adapter is written and tested with a stand-in. An adapter's declarations are its compiler's documented
behaviour, or results of these runs.
"""
import importlib
import inspect

NAMES = ("numpy", "torch", "jax", "cupy", "onnxruntime", "tinygrad")

# Shapes and attributes with which definitions are judged; the others are elementwise, on 500
# elements.
CASES = {
    "matmul": ([(17, 40), (40, 9)], {}), "softmax": ([(16, 33)], {"axis": -1}), "log_softmax": ([(16, 33)], {"axis": -1}),
    "logsumexp": ([(16, 33)], {"axis": -1}), "sum": ([(16, 100)], {"axis": 1}), "mean": ([(16, 100)], {"axis": 1}),
    "max": ([(16, 100)], {"axis": 1}), "min": ([(16, 100)], {"axis": 1}), "var": ([(16, 100)], {"axis": 1}),
    "cumsum": ([(16, 40)], {"axis": 1}), "layer_norm": ([(16, 33), (33,), (33,)], {}), "rms_norm": ([(16, 33), (33,)], {}),
    "linear": ([(9, 40), (17, 40), (17,)], {}), "conv2d": ([(2, 3, 9, 9), (4, 3, 3, 3)], {}),
    "max_pool2d": ([(2, 3, 8, 8)], {"size": 2, "stride": 2}), "avg_pool2d": ([(2, 3, 8, 8)], {"size": 2, "stride": 2}),
    "attention": ([(2, 7, 8), (2, 9, 8), (2, 9, 8)], {}),
}


class Adapter:
    """A package: its functions on its own arrays, by the names of touchstone.kernel.definitions."""
    name = ""
    declared: dict = {}  # its arithmetic: members of a profile, including "base"
    library: dict = {}  # more of them, for definitions of several operations
    functions: dict = {}
    kernels: list = []  # (kernel, verdict) of those that ran, if the package exposes them

    def to(self, array):
        """Converts a NumPy array to the package's."""
        return array

    def back(self, array):
        """Converts the package's array to one on the host."""
        return array

    def run(self, op, arrays, attributes):
        return self.back(self.functions[op](*map(self.to, arrays), **attributes))


def load(name, **options):
    """The adapter of that name. Throws ImportError if its package is missing, ValueError for an unknown name, TypeError for
    an unknown option."""
    if name not in NAMES:
        raise ValueError(f"there is no adapter '{name}'; choose from: {', '.join(NAMES)}")
    made = importlib.import_module("." + name, __name__).Adapter
    for option in options:
        if option not in inspect.signature(made).parameters:
            raise TypeError(f"the adapter takes no option {option}")
    return made(**options)


def judge(adapter, op, *, dtype="float32", profile=None, seed=0):
    """The verdict on an adapter's operation, on inputs of every family that shows its faults."""
    from .. import kernel
    from .._judging import profile_for
    if op not in kernel.definitions:
        kernel.call(op)  # throws with the nearest name
    if op not in adapter.functions:
        return None
    arrays = sum(1 for part in kernel.definitions[op][0].split("(")[1].rstrip(")").split(",") if "=" not in part)
    shapes, attributes = CASES.get(op, ([(500,)] * arrays, {}))
    loads = [kernel.load(i + 1, shape, dtype) for i, shape in enumerate(shapes)]
    asked = kernel.store(kernel.call(op, *loads, **attributes), op)
    allowed = profile_for(asked, profile, adapter.declared, adapter.library)
    verdicts = []
    for _, inputs in kernel.probes(asked, seed):
        given = [a.reshape(shape) for a, shape in zip(inputs, shapes)]
        verdicts.append(kernel.check(asked, given, adapter.run(op, given, attributes), allowed))
    return kernel.combine(verdicts)
