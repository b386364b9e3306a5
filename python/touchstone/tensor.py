"""Tensors with reverse-mode differentiation.

>>> x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
>>> (x @ x).relu().sum().backward()
>>> x.grad.tolist()
[[7.0, 11.0], [9.0, 13.0]]
>>> import numpy as np
>>> np.asarray(Tensor.arange(3) * 2)
array([0, 2, 4], dtype=int32)
"""
from ._core.tensor import (Tensor, TensorJit, counters, devices, gradients, manual_seed, no_grad, realize, reset_counters,
                           training)
from .kernel import _EXTENDED, as_array

__all__ = ["Tensor", "TensorJit", "counters", "devices", "gradients", "jit", "manual_seed", "no_grad", "realize",
           "reset_counters", "training"]


def _array(self, dtype=None, copy=None):
    array = as_array(self._elements())
    return array if dtype is None else array.astype(dtype)


def _dlpack(self, stream=None, **_):  # a newer reader's other wishes may be ignored: the memory is the host's, and new
    return as_array(self._elements()).__dlpack__()


def _tolist(self):
    return as_array((self.cast("float32") if self.dtype in _EXTENDED else self)._elements()).tolist()


def _item(self):
    return as_array((self.cast("float32") if self.dtype in _EXTENDED else self)._elements()).item()


def _iter(self):
    return (self[i] for i in range(len(self)))


Tensor.__array__ = _array
Tensor.__array_ufunc__ = None  # an array and a tensor are no operands of each other: gradients would be lost
Tensor.__dlpack__ = _dlpack
Tensor.__dlpack_device__ = lambda self: (1, 0)
Tensor.numpy = lambda self: as_array(self._elements())
Tensor.tolist = _tolist
Tensor.item = _item
Tensor.__iter__ = _iter
Tensor.__float__ = lambda self: float(self.item())
Tensor.__int__ = lambda self: int(self.item())


def jit(function):
    """A decorator: the first call runs the function of tensors, the second captures its kernels, later calls run
    these on their own inputs. Returns the tensors as a list."""
    return TensorJit(function)
