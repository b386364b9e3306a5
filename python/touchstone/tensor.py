"""Tensors with reverse-mode differentiation.

>>> x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
>>> (x @ x).relu().sum().backward()
>>> x.grad.tolist()
[[7.0, 11.0], [9.0, 13.0]]
>>> import numpy as np
>>> np.asarray(Tensor.arange(3) * 2)
array([0, 2, 4], dtype=int32)

Shapes and orders are sequences or arguments of their own, and the names of axes are also those of tinygrad and PyTorch:

>>> Tensor.ones(2, 3).sum(axis=1, keepdim=True).reshape(1, 2).tolist()
[[3.0, 3.0]]
"""
import functools as _functools
import math as _math
import operator as _op

from ._core import Error, ShapeError, tensor as _core
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


def _bool(self):
    if self.size != 1:
        raise ValueError(f"the truth value of {self.size} elements is ambiguous; use any() or all()")
    return bool(self.item())


Tensor.__bool__ = _bool


# Other forms of the arguments.


def _changed(name, change, key=None, other=None):
    """Replaces a method by one whose arguments are changed first; the first may be called `key` or `other`."""
    own = getattr(Tensor, name)
    static = isinstance(vars(Tensor)[name], staticmethod)

    @_functools.wraps(own)
    def method(*args, **named):
        for word in (key, other):
            if word in named and len(args) == (0 if static else 1):
                args = (*args, named.pop(word))
        return own(*change(args, named, 0 if static else 1), **named)
    setattr(Tensor, name, staticmethod(method) if static else method)


def _gathered(args, named, first):
    """Sizes that are arguments of their own, in a list."""
    end = first
    while end < len(args) and not isinstance(args[end], (tuple, list, str)):
        end += 1
    if end > first or (first == 0 and not args and "shape" not in named):
        return (*args[:first], list(args[first:end]), *args[end:])
    return args


def _filled(shape, given, of):
    """What is given of each axis; None is that of the axis's size."""
    return [of(shape[i]) if g is None and i < len(shape) else g for i, g in enumerate(given)]


def _sizes_kept(args, named, first):
    """The same, of a shape in which None is the size that the tensor has."""
    args = _gathered(args, named, first)
    if len(args) > first and None in args[first]:
        args = (*args[:first], _filled(args[0].shape, args[first], lambda n: n), *args[first + 1:])
    return args


def _expanded(args, named, first):
    args = _sizes_kept(args, named, first)
    return (*args[:first], [n if isinstance(s, int) and s == -1 else s for n, s in zip(args[0].shape, args[first])],
            *args[first + 1:]) if len(args) > first and len(args[first]) == len(args[0].shape) else args


for _name in ("zeros", "ones", "empty", "rand", "randn", "uniform", "normal", "randint", "glorot_uniform", "kaiming_uniform",
              "kaiming_normal", "scaled_uniform"):
    _changed(_name, _gathered, "shape")
_changed("permute", _gathered, "order")
_changed("flip", _gathered, "axes", "axis")
_changed("reshape", _sizes_kept, "shape")
_changed("expand", _expanded, "shape")


def _axes_kept(pair):
    """Pairs of each axis; None leaves an axis as it is."""
    def change(args, named, first):
        if len(args) > 1 and None in args[1]:
            args = (args[0], _filled(args[0].shape, args[1], pair), *args[2:])
        return args
    return change


_changed("shrink", _axes_kept(lambda n: (0, n)), "keep", "arg")
_changed("pad", _axes_kept(lambda n: (0, 0)), "padding", "arg")


def _renamed(**names):
    def change(args, named, first):
        for other, own in names.items():
            if other in named:
                if own in named:
                    raise TypeError(f"{own} is given twice, once as {other}")
                named[own] = named.pop(other)
        return args
    return change


for _name in ("sum", "mean", "max", "min", "prod", "any", "all", "logsumexp", "var", "std"):
    _changed(_name, _renamed(axis="axes", dim="axes"))
for _name in ("argmax", "argmin", "cumsum", "softmax", "log_softmax", "squeeze", "unsqueeze", "split", "chunk", "unflatten"):
    _changed(_name, _renamed(dim="axis"))
_changed("transpose", _renamed(ax1="a", ax2="b"))


class _OnBoth:
    """A function of the class, Tensor.cat([a, b]), and a method, a.cat(b)."""

    def __init__(self, function, method):
        self.function, self.method = function, method

    def __get__(self, tensor, cls):
        return self.function if tensor is None else _functools.partial(self.method, tensor)


_where, _einsum = Tensor.where, Tensor.einsum


def _joined(join):
    """join([a, b], 1), join(a, b, axis=1) and, of a tensor, a.join(b, dim=1)."""
    def of_list(parts, axis=0, *, dim=None):
        return join(parts, _op.index(axis if dim is None else dim))

    def function(*given, **named):
        return of_list(*((given,) if given and isinstance(given[0], Tensor) else given), **named)
    return _OnBoth(function, function)


Tensor.cat, Tensor.stack = _joined(Tensor.cat), _joined(Tensor.stack)
Tensor.where = _OnBoth(_where, _where)
Tensor.einsum = staticmethod(lambda notation, *operands: _einsum(
    notation, operands[0] if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else operands))
for _name in ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like"):
    setattr(Tensor, _name, _OnBoth(getattr(Tensor, _name), getattr(Tensor, _name)))


# tinygrad's names of what has another name here, or is a function.


def _operator(name, reversed_name):
    def method(self, x, reverse=False):
        result = getattr(self, reversed_name if reverse else name)(x)
        if result is NotImplemented:
            raise TypeError(f"{name.strip('_')}: a {type(x).__name__} is neither a tensor nor a number")
        return result
    return method


def _in_place(dunder, name):
    def method(self, x):
        result = getattr(self, dunder)(x)
        if result is NotImplemented:
            return result
        if result.requires_grad or self.requires_grad and (self * 1).requires_grad:  # not in a NoGrad scope
            raise Error(f"{name}: a tensor with a gradient cannot change in place; write x = x {name[:-1]} y, or change it in a NoGrad scope")
        self.assign(result)
        return self
    return method


for _name, _dunder in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("div", "truediv"), ("pow", "pow"), ("xor", "xor")):
    setattr(Tensor, _name, _operator(f"__{_dunder}__", f"__r{_dunder}__"))
for _dunder, _name in (("pow", "**="), ("xor", "^="), ("and", "&="), ("or", "|="), ("floordiv", "//="), ("mod", "%="), ("matmul", "@=")):
    setattr(Tensor, f"__i{_dunder}__", _in_place(f"__{_dunder}__", _name))


def _invert(self):
    return self ^ (True if self.dtype == "bool" else Tensor.full([], -1, self.dtype, self.device))


def _flatten(self, first=0, last=-1, start_dim=None, end_dim=None):
    """Merges the axes from first to last."""
    first, last = first if start_dim is None else start_dim, last if end_dim is None else end_dim
    if last in (-1, self.rank - 1) or self.rank == 0:
        return _to_the_end(self, first)
    first, last = (a + self.rank if a < 0 else a for a in (first, last))
    if not 0 <= first <= last < self.rank:
        raise ShapeError(f"flatten: axes {first} to {last} of shape {self.shape}; expected 0 <= first <= last < {self.rank}")
    return self.reshape([*self.shape[:first], _math.prod(self.shape[first:last + 1]), *self.shape[last + 1:]])


_to_the_end, _set = Tensor.flatten, Tensor.__setitem__


def _setitem(self, key, value):
    if not isinstance(value, (Tensor, bool, int, float)) and not (getattr(value, "shape", None) == ()):
        value = Tensor(value, dtype=self.dtype, device=self.device)
    _set(self, key, value)


def _unpickled(data, shape, dtype, device, requires_grad):
    """Called by pickle."""
    if dtype in _BITS:
        t = _unpickled(data, shape, _BITS[dtype], device, False).bitcast(dtype)
    elif data:
        t = Tensor(memoryview(data).cast("B").cast(_FORMATS[dtype]), device=device).reshape(list(shape))
    else:
        t = Tensor.zeros(list(shape), dtype, device)
    t.requires_grad = requires_grad
    return t


_FORMATS = {"bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q",
            "uint64": "Q", "float32": "f", "float64": "d"}
_BITS = {"float16": "uint16", "bfloat16": "uint16", "float8_e4m3": "uint8", "float8_e5m2": "uint8"}


def _reduce(self):
    """The values; a tensor that was computed from others becomes a leaf. pickle and copy.deepcopy."""
    bits = self.detach().bitcast(_BITS[self.dtype]) if self.dtype in _BITS else self
    return _unpickled, (memoryview(bits._elements()).tobytes(), self.shape, self.dtype, self.device, self.requires_grad)


Tensor.__invert__ = _invert
Tensor.__divmod__ = lambda self, x: (self // x, self % x)
Tensor.flatten = _flatten
Tensor.__setitem__ = _setitem
Tensor.__reduce__ = _reduce
Tensor.__round__ = lambda self, digits=None: self.round() if digits is None else (self * 10 ** digits).round() / 10 ** digits
Tensor.__format__ = lambda self, spec: format(self.item(), spec) if spec and self.size == 1 else format(str(self), spec)


def _full_like(self, value, dtype=None, device=None):
    return Tensor.full(self.shape, value, dtype or self.dtype, device or self.device)


def _slice(self, arg, value=0.0):
    """[begin, end) of each axis, or None; what lies outside the tensor is `value`."""
    ends = [(0, n) if a is None else a for n, a in zip(self.shape, arg)]
    pads = [(max(0, -b), max(0, e - n)) for n, (b, e) in zip(self.shape, ends)]
    return self.pad(pads, value=value).shrink([(b + p, e + p) for (b, e), (p, _) in zip(ends, pads)])


def _conv2d(self, weight, bias=None, groups=1, stride=1, dilation=1, padding=0):
    """padding: one number, one per axis, or (before, after) of the last axis, then of the one before it."""
    axes, x = len(weight.shape) - 2, self
    if isinstance(padding, (tuple, list)) and len(padding) == 2 * axes and axes > 0:
        x, padding = self.pad2d(list(padding)), 0
    return _core.conv(x, weight, bias, stride, padding, dilation, groups)


def _conv_transpose2d(self, weight, bias=None, groups=1, stride=1, dilation=1, padding=0, output_padding=0):
    return _core.conv_transpose(self, weight, bias, stride, padding, dilation, groups, output_padding)


def _pooled(pool):
    def method(self, kernel_size=(2, 2), stride=None, dilation=1):
        kernel = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
        return pool(self, kernel, stride, 0, dilation)
    return method


def _wide(x):
    """Narrower floats and integers in float32, in which composed functions compute."""
    return x if x.dtype in ("float32", "float64") else x.float()


def _layernorm(self, axis=-1, eps=1e-5):
    if isinstance(axis, int):
        return _core.layernorm(self, axis, eps)
    dtype, x = self.dtype if self.is_floating_point() else "float32", _wide(self)
    centred = x - x.mean(axis, keepdim=True)
    return (centred * (centred.square().mean(axis, keepdim=True) + eps).rsqrt()).cast(dtype)


def _batchnorm(self, weight, bias, mean, invstd):
    """(x - mean) * weight * invstd + bias, one of each per channel; weight and bias may be None."""
    def channels(t):
        return t.reshape([1, -1] + [1] * (len(self.shape) - 2)) if len(t.shape) == 1 else t
    out = (self - channels(mean)) * (channels(invstd) if weight is None else channels(weight) * channels(invstd))
    return out if bias is None else out + channels(bias)


def _linear(self, weight, bias=None):
    """x @ weight + bias, with weight (in, out); of a vector, x * weight. touchstone.nn's takes (out, in)."""
    out = self * weight if len(weight.shape) == 1 else self @ weight
    return out if bias is None else out + bias


def _attention(self, key, value, attn_mask=None, dropout_p=0.0, is_causal=False):
    return _core.scaled_dot_product_attention(self, key, value, attn_mask, is_causal, None,
                                              dropout_p if Tensor.training else 0.0)


def _of_labels(self, labels, ignore_index=-1):
    """The mean of -log_softmax(self)[label] over the labels that are not ignored."""
    return _core.cross_entropy(self.reshape([-1, self.shape[-1]]), labels.reshape([-1]), 0.0, ignore_index)


Tensor.corealize = staticmethod(lambda tensors: realize(list(tensors)))
Tensor.manual_seed = staticmethod(lambda seed=0: manual_seed(seed))
Tensor.train = training
Tensor.data = lambda self: memoryview(as_array(self._elements()))
Tensor.full_like = _full_like
Tensor.slice = _slice
Tensor.dot = lambda self, w: self.matmul(w)
Tensor.neg = lambda self: -self
Tensor.clip = lambda self, min_=None, max_=None: self.clamp(min_, max_)
Tensor.swish = Tensor.silu
Tensor.leakyrelu = lambda self, neg_slope=0.01: self.leaky_relu(neg_slope)
Tensor.contiguous_backward = lambda self: self
Tensor.float = lambda self: self.cast("float32")
Tensor.half = lambda self: self.cast("float16")
Tensor.ndim = property(lambda self: self.rank)
Tensor.numel = lambda self: self.size
Tensor.element_size = lambda self: self.nbytes // self.size if self.size else Tensor.zeros([1], self.dtype).nbytes
Tensor.is_floating_point = lambda self: "float" in self.dtype
Tensor.cpu = lambda self: self.to("CPU")
Tensor.clang = lambda self: self.to("CLANG")
Tensor.sequential = lambda self, functions: _functools.reduce(lambda x, f: f(x), functions, self)
Tensor.linear = _linear
Tensor.layernorm = _layernorm
Tensor.batchnorm = _batchnorm
Tensor.dropout = lambda self, p=0.5: _core.dropout(self, p) if Tensor.training and p != 0 else self
Tensor.scaled_dot_product_attention = _attention
Tensor.conv2d = _conv2d
Tensor.conv_transpose2d = _conv_transpose2d
Tensor.avg_pool2d = _pooled(_core.avg_pool)
Tensor.max_pool2d = _pooled(_core.max_pool)
Tensor.binary_crossentropy = lambda self, y: _core.binary_cross_entropy(self, y)
Tensor.binary_crossentropy_logits = lambda self, y: _core.binary_cross_entropy_with_logits(self, y)
Tensor.sparse_categorical_crossentropy = _of_labels


def jit(function):
    """A decorator: the first call runs the function of tensors, the second captures its kernels, later calls run
    these on their own inputs. Returns the tensors as a list."""
    return TensorJit(function)
