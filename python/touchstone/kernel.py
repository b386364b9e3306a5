"""Kernels: build and read them, evaluate them on the reference, judge other outputs.

>>> x = load(1, (2, 3))
>>> k = store(reduce_sum(x * 2.0, axes=[1]))
>>> k.shape, k.dtype, k.buffers
((2, 1), 'float32', [(0, 'float32', 2), (1, 'float32', 6)])
>>> import numpy as np
>>> ones = np.ones((2, 3), "float32")
>>> eval(k, ones).tolist()
[[6.0], [6.0]]
>>> print(check(k, [ones], np.full((2, 1), 6.0, "float32")))
PASS: 2 elements, each with one legal answer; no probes
>>> check(k, [ones], np.full((2, 1), 6.5, "float32")).interval
(6.0, 6.0)

Every definition of `definitions` is a function here: kernel.softmax(x, axis=-1).
"""
from ._core import kernel as _kernel
from ._core.kernel import *  # noqa: F403: the definitions are many
from ._core.kernel import Elements, Kernel, definitions

__all__ = ["Array", "Blame", "Elements", "ExplainedNode", "Kernel", "Verdict", "as_dtype", "blame", "call", "check",
           "combine", "const", "definitions", "eval", "explain", "find_order", "load", "probes", "reduce_max",
           "reduce_sum", "store", *definitions]

_EXTENDED = {"bfloat16": "bfloat16", "float8_e4m3": "float8_e4m3fn", "float8_e5m2": "float8_e5m2"}


def as_array(elements: Elements):
    """Elements as a NumPy array over the same memory; bfloat16 and float8 by ml_dtypes if installed, else as bits. A
    memoryview without NumPy."""
    try:
        import numpy
    except ImportError:
        return memoryview(elements)
    array = numpy.asarray(elements)
    if elements.dtype in _EXTENDED:
        try:
            import ml_dtypes
        except ImportError:
            return array
        return array.view(getattr(ml_dtypes, _EXTENDED[elements.dtype]))
    return array


def eval(kernel: Kernel, *inputs: object):
    """The reference's output for these arrays, each of the dtype of the kernel's buffer 1, 2, ...: correctly rounded,
    sums exact. Raises BufferError, DTypeError, AstError, and TypeError for an argument that is no array."""
    return as_array(_kernel._eval(kernel, *inputs))


def probes(kernel: Kernel, seed: int = 0) -> list[tuple[str, list]]:
    """Inputs of every family that shows faults of this kernel, drawn from a seed: a list of (family, arrays)."""
    return [(family, [as_array(e) for e in inputs]) for family, inputs in _kernel._probes(kernel, seed)]


def _restored(text: str, judging: str) -> Kernel:
    """Called by pickle."""
    return Kernel.from_json(text, judging)
