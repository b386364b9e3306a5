"""Touchstone: the right answer of a tensor kernel, and every result that is legal.

>>> import touchstone
>>> from touchstone.symbolic import Variable
>>> a, b = Variable("a", 0, 10), Variable("b", 0, 3)
>>> print((a*4 + b) // 4)
a

`touchstone.judge` judges a function against a definition, `touchstone.testing.assert_legal` an
array in a test; `symbolic`, `view`, `kernel` and `Tensor` are the library's layers.
"""
import importlib

from ._core import (AstError, BufferError, DTypeError, Error, IndexError, Interrupted, OverflowError, ParseError, ShapeError,
                    SystemError, __version__)

_MODULES = {"symbolic", "view", "maps", "kernel", "judge", "testing", "adapters", "compat", "nn", "optim", "tensor", "onnx", "jax",
            "tinygrad"}
_MAPS = {"Map": ("maps", "Map"), "Expr": ("symbolic", "Node")}
_OF_TENSOR = {"Tensor", "jit", "no_grad", "devices", "manual_seed"}

_LIKE_PYTHON_S = {"BufferError", "IndexError", "OverflowError", "SystemError"}

# `from touchstone import *` leaves Python's own errors what they are.
__all__ = sorted({"AstError", "DTypeError", "Error", "Interrupted", "ParseError", "ShapeError"} | _MODULES | _OF_TENSOR | set(_MAPS))


def __getattr__(name):  # lazy: importing the package loads only the modules used
    if name in _MODULES:
        return importlib.import_module("." + name, __name__)
    if name in _OF_TENSOR:
        return getattr(importlib.import_module(".tensor", __name__), name)
    if name in _MAPS:
        module, own = _MAPS[name]
        return getattr(importlib.import_module("." + module, __name__), own)
    raise AttributeError(f"module 'touchstone' has no attribute {name!r}")


def __dir__():
    return sorted({*__all__, *_LIKE_PYTHON_S})
