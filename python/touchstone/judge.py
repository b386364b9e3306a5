"""judge(fn, reference="softmax", inputs=[...]): the verdict on a function's results.

>>> import numpy as np, touchstone
>>> x = np.linspace(-2, 2, 64, dtype="float32").reshape(4, 16)
>>> touchstone.judge(np.exp2, reference="exp2", inputs=[x]).status
'PASS'
>>> v = touchstone.judge(lambda a: np.exp2(a) * np.float32(1.0001), reference="exp2", inputs=[x])
>>> v.status, v.index
('FAIL', (0, 0))

As a program it judges a package: python -m touchstone.judge numpy --ops exp2,matmul
"""
from __future__ import annotations

import sys as _sys
import types as _types

from . import kernel as _kernel
from ._judging import LIBRARY, check_op, kernel_of_shapes

__all__ = ["LIBRARY", "judge"]


def _copied(array):
    """A copy that a function may overwrite: NumPy and CuPy arrays have copy(), PyTorch's clone(); JAX's are constant."""
    for copy in ("copy", "clone"):
        if hasattr(array, copy):
            return getattr(array, copy)()
    return array


def judge(fn, reference: str | _kernel.Kernel, inputs=None, *, profile: str | None = None, dtype: str = "float32",
          seed: int = 0, **attributes: object) -> _kernel.Verdict:
    """The verdict on fn's results, against the legal results of a definition.

    fn: takes arrays and returns one (buffer protocol, __array_interface__ or DLPack, on the host).
    reference: a definition's name ("softmax"), a formula with its inputs ("softmax(x[8,33]) * 2"), or a Kernel.
    inputs: arrays, on which fn is called once; or shapes (tuples or lists) of arrays of `dtype`, which are drawn from
        the seed in every family that shows faults. None for a formula, whose shapes are known, or a kernel, whose
        inputs are drawn flat.
    profile: the arithmetic that is allowed, a name or the JSON of one; None: "library" for what functions compute as
        they like, and for a Kernel without a definition, else "glibc" (docs/oracle.md).
    attributes: of the definition, as axis=1.

    Exceptions of fn propagate. Raises ParseError, ShapeError, DTypeError, BufferError.
    """
    shapes, allowed = None, profile or ""
    if isinstance(reference, _kernel.Kernel):
        kernel = reference
        if profile is None and not kernel.definition:
            allowed = LIBRARY
    elif "(" in reference:
        kernel = _kernel.Kernel.from_formula(reference)
        shapes = kernel._shapes
    else:
        if inputs is None:
            raise TypeError("judge: inputs is missing; give arrays, or the shapes of arrays to draw")
        are_shapes = [isinstance(i, (tuple, list)) for i in inputs]
        if not all(are_shapes):
            if any(are_shapes):
                raise TypeError("judge: give arrays, or shapes of arrays to draw, not both")
            before = [_copied(i) for i in inputs]
            return check_op(fn(*inputs), reference, before, profile, attributes)
        kernel, shapes, inputs = kernel_of_shapes(reference, inputs, dtype, attributes), inputs, None
    if inputs is not None:
        before = [_copied(i) for i in inputs]
        return _kernel.check(kernel, before, fn(*inputs), allowed)
    verdicts = []
    for _, arrays in _kernel.probes(kernel, seed):
        given = arrays if shapes is None else [a.reshape(shape) for a, shape in zip(arrays, shapes)]
        verdicts.append(_kernel.check(kernel, arrays, fn(*map(_copied, given)), allowed))
    return _kernel.combine(verdicts)


class _Module(_types.ModuleType):
    """Makes the module touchstone.judge callable as its function judge."""

    def __call__(self, *args, **kwargs):
        return self.judge(*args, **kwargs)


if __name__ == "__main__":
    from touchstone.adapters import main
    _sys.exit(main())
_sys.modules[__name__].__class__ = _Module
