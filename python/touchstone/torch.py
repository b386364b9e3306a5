"""PyTorch functions as references, and the operations of a model judged one by one.

    import torch, touchstone.torch

    def reference(x, w):                      # any function of PyTorch
        return torch.softmax(x @ w, -1)
    touchstone.torch.assert_legal(my_kernel(x, w), reference, x, w)

    with touchstone.torch.watch() as seen:    # every operation that runs inside, on any device
        model(batch)
    print(seen)

    fast = torch.compile(model, backend=touchstone.torch.compiled("inductor"))  # judges each graph that runs

A function becomes a formula (docs/define.md), `formula(reference, x, w)`, which every verb takes. Operations without a
row here are named, and the others are judged. Tried with PyTorch 1.13 and 2.11.
"""
from __future__ import annotations

import collections as _collections
import copy as _copy
import math as _math
import operator as _operator
import os as _os
import re as _re
import traceback as _traceback

import torch as _torch
import torch.nn.functional as _F
from torch.utils._python_dispatch import TorchDispatchMode as _Mode
from torch.utils._pytree import tree_map as _map

from . import kernel as _kernel
from .adapters import Adapter as _Adapter
from .testing import assert_legal

__all__ = ["Adapter", "Formula", "Operation", "Seen", "assert_legal", "compiled", "formula", "judge", "watch"]

_TYPES = {getattr(_torch, name): name for name in (
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")}
_PYTORCH = _os.path.dirname(_torch.__file__) + _os.sep
_NARROW = ("float16", "bfloat16")
# PyTorch's sqrt on the CPU is within 1 ULP.
_ROOTS = '{"name": "torch", "base": "library", "ulp": {"sqrt": 1}}'


class _Unknown(Exception):
    """There is no formula for this operation, or for these arguments."""


class _Term:
    """A tensor as a part of a formula."""

    def __init__(self, text, tensor):
        self.text, self.shape, self.dtype, self.device = text, tuple(tensor.shape), _type(tensor.dtype), tensor.device.type

    def __str__(self):
        return self.text

    def axis(self, dim):
        return dim % max(len(self.shape), 1)

    def axes(self, dims):
        if not self.shape:
            return []
        dims = range(len(self.shape)) if dims is None or dims == [] else [dims] if isinstance(dims, int) else dims
        return [self.axis(d) for d in dims]


def _type(dtype):
    if dtype not in _TYPES:
        raise _Unknown(f"elements of {dtype}")
    return _TYPES[dtype]


def _number(value):
    if isinstance(value, bool):
        return str(int(value))
    return f"({value!r})" if value < 0 else repr(value)


def _to(x, dtype):
    if not isinstance(x, _Term):
        return _number(x)
    return str(x) if x.dtype == dtype else f"cast({x}, {dtype})"


def _shape(x, shape):
    return str(x) if tuple(shape) == x.shape else f"reshape({x}, shape={_list(shape)})"


def _list(values):
    return "[" + ",".join(str(int(v)) for v in values) + "]"


# ---- Rows: torch.ops.aten.NAME as a formula, or several for several results (None: not judged). `o` is the first result.

def _arithmetic(text, a, b):
    """An operation on both in their common type: an operation in place rounds to its own."""
    def row(o, *args):
        common = _common(args[a], args[b])
        wide = common if "float" in o.dtype and "float" in common else o.dtype
        return text.format(x=_to(args[a], wide), y=_to(args[b], wide))
    return row


def _common(*args):
    """The type in which PyTorch computes with these."""
    return _type(_torch.result_type(*(
        _torch.empty([1] * len(t.shape), dtype=getattr(_torch, t.dtype)) if isinstance(t, _Term) else t for t in args)))


def _scaled(sign):
    def row(o, x, y, alpha=1):
        if alpha != 1:
            scaled = f"({y if isinstance(y, _Term) else f'cast({_number(y)}, {o.dtype})'} * {_number(alpha)})"
            y = _Term(scaled, _torch.empty([1] * len(getattr(y, "shape", ())), dtype=getattr(_torch, getattr(y, "dtype", o.dtype))))
        return _arithmetic("({x} %s {y})" % sign, 0, 1)(o, x, y)
    return row


def _compared(text):
    def row(o, x, y):
        common = _common(x, y)
        return text.format(x=_to(x, common), y=_to(y, common))
    return row


def _unary(name):
    return lambda o, x: f"{name}({_to(x, o.dtype)})"


def _reduce(name, **more):
    def row(o, x, dim=None, keepdim=False, dtype=None):
        attributes = "".join(f", {k}={v}" for k, v in more.items())
        if not x.shape:
            return _to(x, o.dtype)
        return f"{name}({_to(x, o.dtype) if name != 'argmax' else x}, axis={_list(x.axes(dim))}, keep={int(keepdim)}{attributes})"
    return row


def _position(name):
    def row(o, x, dim=None, keepdim=False):
        if dim is None:
            return f"{name}(reshape({x}, shape=[-1]), axis=0)"
        return f"{name}({x}, axis={x.axis(dim)}, keep={int(keepdim)})"
    return row


def _spread(name):
    def row(o, x, dim=None, unbiased=None, correction=None, keepdim=False):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        ddof = correction if correction is not None else 1 if unbiased is None else int(unbiased)
        return f"{name}({x}, axis={_list(x.axes(dim))}, correction={ddof:g}, keep={int(keepdim)})"
    return row


def _clamp(o, x, low=None, high=None):
    given = [(k, v) for k, v in (("low", low), ("high", high)) if v is not None]
    return f"clamp({_to(x, o.dtype)}, {', '.join(f'{k}={_to(v, o.dtype)}' for k, v in given)})"


def _divided(o, x, y, rounding_mode=None):
    if rounding_mode is None:
        return _arithmetic("{x} / {y}", 0, 1)(o, x, y)
    if rounding_mode == "floor":
        return f"floor_div({_to(x, o.dtype)}, {_to(y, o.dtype)})"
    quotient = _arithmetic("{x} / {y}", 0, 1)(o, x, y)
    return f"trunc({quotient})" if "float" in o.dtype else quotient  # of integers it truncates


def _norm(o, x, shape, w=None, b=None, eps=1e-5):
    n, lead = _math.prod(shape), x.shape[:len(x.shape) - len(shape)]
    given = [f"{k}={_shape(v, [n])}" for k, v in (("w", w), ("b", b)) if v is not None]
    made = f"layer_norm({', '.join([_shape(x, [*lead, n]), *given])}, eps={eps!r})"
    if len(shape) > 1:
        made = f"reshape({made}, shape={_list(x.shape)})"
    stat = [*lead, *[1] * len(shape)]
    axes, wide = _list(range(len(lead), len(x.shape))), _wide(x)
    return (made, f"reshape(mean({wide}, axis={axes}), shape={_list(stat)})",
            f"reshape(rsqrt(var({wide}, axis={axes}) + {eps!r}), shape={_list(stat)})")


def _group_norm(o, x, w, b, n, c, hw, groups, eps):
    given = [f"{k}={v}" for k, v in (("w", w), ("b", b)) if v is not None]
    return f"group_norm({', '.join([str(x), *given])}, groups={groups}, eps={eps!r})", None, None


def _batch_norm(o, x, w, b, mean, var, training, momentum, eps, *unused):
    axes = _list(i for i in range(len(x.shape)) if i != 1)
    if training:
        mean, var = (f"{name}({_wide(x)}, axis={axes})" for name in ("mean", "var"))
    given = [f"{k}={v}" for k, v in (("w", w), ("b", b)) if v is not None]
    return f"batch_norm({', '.join([str(x), str(mean), str(var), *given])}, eps={eps!r})", None, None


def _no_training(o, x, w, b, mean, var, momentum, eps):
    return _batch_norm(o, x, w, b, mean, var, False, momentum, eps)


def _wide(x):
    return _to(x, "float32") if x.dtype in _NARROW else str(x)


def _convolution(o, x, w, b, stride, padding, dilation, transposed, output_padding, groups):
    axes = len(x.shape) - 2
    each = lambda v: _list(v if len(v) == axes else list(v) * axes)  # noqa: E731
    given = [str(x), str(w), *([str(b)] if b is not None else [])]
    given += [f"stride={each(stride)}", f"padding={each(padding)}", f"dilation={each(dilation)}", f"groups={groups}"]
    if transposed:
        given.append(f"output_padding={each(output_padding)}")
    return f"conv{'_transpose' if transposed else ''}{axes}d({', '.join(given)})"


def _product(o, b, x, y, beta=1, alpha=1):
    product = f"({x} @ {y})"
    if beta == 0:
        return f"expand({product} * {_number(alpha)}, shape={_list(o.shape)})"
    if beta == alpha == 1:
        if len(b.shape) == 1 and len(x.shape) == 2:
            return f"linear({x}, transpose({y}), {b})"
        return f"{product} + {b}"
    return f"{product} * {_number(alpha)} + {b} * {_number(beta)}"


def _pool(name, axes, index=False):
    def row(o, x, size, stride=(), padding=0, *rest):
        each = lambda v: _list([v] * axes if isinstance(v, int) else v if len(v) == axes else list(v) * axes)  # noqa: E731
        if len(x.shape) != axes + 2:
            raise _Unknown("pooling without a batch")
        words = ("dilation", "ceil_mode") if name == "max_pool" else ("ceil_mode", "count_include_pad", "divisor_override")
        more = [f"{k}={int(v) if isinstance(v, (bool, int)) else each(v)}" for k, v in zip(words, rest) if v is not None]
        made = f"{name}{axes}d({', '.join([str(x), f'size={each(size)}', f'stride={each(stride or size)}', f'padding={each(padding)}', *more])})"
        return (made, None) if index else made
    return row


def _attention(o, q, k, v, *args, scale=None, is_causal=None, attn_mask=None, attn_bias=None, dropout_p=0.0, **unused):
    args = list(args)
    if args and (args[0] is None or isinstance(args[0], _Term)):  # mask or bias before the others
        attn_mask = args.pop(0)
    if args and isinstance(args[0], bool):  # compute_log_sumexp
        args.pop(0)
    if args:
        dropout_p = args.pop(0)
    causal = is_causal if is_causal is not None else bool(args and args.pop(0))
    mask = attn_mask if attn_mask is not None else attn_bias
    if dropout_p:
        raise _Unknown("attention with dropout")
    given = [str(q), str(k), str(v), *([f"mask={mask}"] if mask is not None else []), f"causal={int(causal)}"]
    if tuple(map(int, _re.findall(r"\d+", _torch.__version__)[:2])) >= (2, 5):
        given.append("empty=zero")
    return (f"attention({', '.join(given)}{f', scale={scale!r}' if scale is not None else ''})", *[None] * 8)


def _slice(o, x, dim=0, start=None, end=None, step=1):
    dim, n = x.axis(dim), len(x.shape)
    size = x.shape[dim]
    start, end, _ = slice(start, end).indices(size)
    begin, stop, steps = [0] * n, list(x.shape), [1] * n
    begin[dim], stop[dim], steps[dim] = start, max(end, start), step
    cut = f"slice({x}, begin={_list(begin)}, end={_list(stop)})"
    return cut if step == 1 else f"stride({cut}, steps={_list(steps)})"


def _select(o, x, dim, index):
    cut = _slice(o, x, dim, index % x.shape[x.axis(dim)], index % x.shape[x.axis(dim)] + 1)
    return f"reshape({cut}, shape={_list(o.shape)})"


def _concat(o, xs, dim=0):
    xs = [x for x in xs if x.shape != (0,)]
    text = _to(xs[0], o.dtype)
    for x in xs[1:]:
        text = f"concat({text}, {_to(x, o.dtype)}, axis={xs[0].axis(dim)})"
    return text


def _stack(o, xs, dim=0):
    at, text = dim % (len(xs[0].shape) + 1), ""
    for x in xs:
        one = f"reshape({_to(x, o.dtype)}, shape={_list([*x.shape[:at], 1, *x.shape[at:]])})"
        text = f"concat({text}, {one}, axis={at})" if text else one
    return text


def _norm_of(x, order, dim, keepdim):
    if order not in (1, 2):
        raise _Unknown(f"the norm of order {order}")
    return f"l{order:g}_norm({x}, axis={_list(x.axes(dim))}, keep={int(keepdim)})"


def _pad(o, x, pad, value=0, mode="constant"):
    axes, value = len(pad) // 2, value if "float" in x.dtype else int(value)
    before, after = pad[-2::-2], pad[-1::-2]
    if min(pad, default=0) < 0:
        raise _Unknown("a negative padding")
    return f"pad({x}, before={_list(before)}, after={_list(after)}, value={_number(value)}, mode={mode})" if axes else str(x)


def _loss(name):
    def row(o, x, target, reduction=1, *rest):
        more = f", {'beta' if name == 'smooth_l1_loss' else 'delta'}={_number(rest[0])}" if rest else ""
        return f"{name}({x}, {target}{more}, reduction={('none', 'mean', 'sum')[reduction]})"
    return row


def _nll(o, x, target, weight, reduction, ignore_index):
    more = f", weight={weight}" if weight is not None else ""
    return (f"nll_loss({x}, {target}{more}, ignore_index={ignore_index}, reduction={('none', 'mean', 'sum')[reduction]})",
            None)


def _embedding(o, table, index, *unused):
    return f"reshape(index_select({table}, reshape({index}, shape=[-1]), axis=0), shape={_list(o.shape)})"


def _index(o, x, indices):
    at = [i for i, index in enumerate(indices) if index is not None]
    if len(at) != 1 or indices[at[0]].dtype in ("bool", "uint8"):
        raise _Unknown("several indices, or a mask")
    taken = f"index_select({x}, reshape({indices[at[0]]}, shape=[-1]), axis={at[0]})"
    return f"reshape({taken}, shape={_list(o.shape)})"


def _gelu(o, x, approximate="none"):
    return f"gelu{'_tanh' if approximate == 'tanh' else ''}({x})"


def _softplus(o, x, beta=1, threshold=20):
    inner = f"{x} * {_number(beta)}" if beta != 1 else f"{x}"
    return f"where({inner} > {_number(threshold)}, {x}, softplus({inner}){f' / {_number(beta)}' if beta != 1 else ''})"


def _interpolate(mode, axes, corners=True):
    def row(o, x, size, *rest):
        aligned = corners and bool(rest[0])
        given = [r for r in rest[1 if corners else 0:] if r is not None]
        scales = given[0] if given and isinstance(given[0], (list, tuple)) else given
        if not aligned and any(n != m * s for n, m, s in zip(o.shape[-axes:], x.shape[-axes:], scales)):
            raise _Unknown("its scale is not the ratio of the sizes")
        return f"interpolate({x}, size={_list(o.shape[-axes:])}, mode={mode}, align_corners={int(corners and bool(rest[0]))})"
    return row


def _elu(o, x, alpha=1, scale=1, input_scale=1):
    if input_scale != 1:
        raise _Unknown("input_scale")
    if abs(scale - 1.0507009873554805) < 1e-12:
        return f"selu({x})"
    if scale != 1:
        raise _Unknown("a scale")
    return f"elu({x}, alpha={_number(alpha)})"


def _shaped(o, x, *args, **more):
    if args and isinstance(args[0], _torch.dtype):
        if x.shape != o.shape:
            raise _Unknown("elements of another size")
        return f"bitcast({x}, {o.dtype})"
    return _shape(x, o.shape)


def _same(o, x, *unused, **more):
    return _to(x, o.dtype)


_ROWS = {
    **{name: _unary(name) for name in (
        "exp2 log2 sin sqrt exp expm1 log log10 log1p rsqrt sigmoid silu tanh erf erfc cos tan asin acos atan sinh cosh asinh "
        "acosh atanh lgamma digamma erfinv floor ceil round trunc abs relu square frac isnan isinf isfinite neg mish "
        "hardswish hardsigmoid relu6").split()},
    "reciprocal": _unary("recip"), "bitwise_not": _unary("bit_not"), "signbit": lambda o, x: f"signbit({x})",
    **dict.fromkeys(("sign", "sgn"), lambda o, x: f"where({x} == {x}, sign({x}), 0)" if "float" in x.dtype else f"sign({x})"),
    "special_expit": _unary("sigmoid"), "logical_not": lambda o, x: f"{x} == 0",
    "isnan": lambda o, x: f"isnan({x})", "isinf": lambda o, x: f"isinf({x})", "isfinite": lambda o, x: f"isfinite({x})",
    "log_sigmoid_forward": lambda o, x: (f"logsigmoid({x})", None), "gelu": _gelu, "softplus": _softplus, "elu": _elu,
    "celu": lambda o, x, alpha=1: f"celu({x}, alpha={_number(alpha)})",
    **{name: (lambda name: lambda o, x, lambd=0.5: f"{name}({x}, lambd={_number(lambd)})")(name)
       for name in ("hardshrink", "softshrink")},
    "glu": lambda o, x, dim=-1: f"glu({x}, axis={x.axis(dim)})",
    "leaky_relu": lambda o, x, slope=0.01: f"leaky_relu({x}, slope={_number(slope)})",
    "hardtanh": lambda o, x, low=-1, high=1: f"hardtanh({x}, low={_number(low)}, high={_number(high)})",
    "threshold": lambda o, x, at, value: f"threshold({x}, threshold={_number(at)}, value={_number(value)})",
    "add": _scaled("+"), "sub": _scaled("-"), "rsub": lambda o, x, y, alpha=1: _scaled("-")(o, y, x, alpha),
    "mul": _arithmetic("({x} * {y})", 0, 1), "div": _divided, "true_divide": _divided,
    "floor_divide": lambda o, x, y: _divided(o, x, y, "floor"), "fmod": _arithmetic("mod({x}, {y})", 0, 1),
    **{name: _arithmetic(name + "({x}, {y})", 0, 1) for name in (
        "atan2 hypot maximum minimum remainder copysign xlogy logaddexp heaviside").split()},
    "pow": lambda o, x, y: f"{x} * {x}" if "int" in o.dtype and y == 2 else _arithmetic("pow({x}, {y})", 0, 1)(o, x, y),
    "nextafter": _arithmetic("next_after({x}, {y})", 0, 1),
    "bitwise_and": _arithmetic("bit_and({x}, {y})", 0, 1), "bitwise_or": _arithmetic("bit_or({x}, {y})", 0, 1),
    "bitwise_xor": _arithmetic("xor({x}, {y})", 0, 1),
    "logical_and": lambda o, x, y: f"bit_and({x} != 0, {y} != 0)", "logical_or": lambda o, x, y: f"bit_or({x} != 0, {y} != 0)",
    **{name: _compared("({x} %s {y})" % sign) for name, sign in (
        ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!="))},
    "where": lambda o, c, x, y: f"where({c}, {_to(x, o.dtype)}, {_to(y, o.dtype)})",
    "masked_fill": lambda o, x, mask, value: f"where({mask}, {_to(value, o.dtype)}, {x})",
    "clamp": _clamp, "clamp_min": _clamp, "clamp_max": lambda o, x, high: _clamp(o, x, None, high),
    "lerp": lambda o, x, y, w: f"lerp({x}, {y}, {w if isinstance(w, _Term) else f'cast({_number(w)}, {o.dtype})'})",
    "addcmul": lambda o, x, a, b, value=1: f"{x} + {_number(value)} * {a} * {b}" if value != 1 else f"{x} + {a} * {b}",
    "addcdiv": lambda o, x, a, b, value=1: f"{x} + {_number(value)} * ({a} / {b})" if value != 1 else f"{x} + {a} / {b}",
    "sum": _reduce("sum"), "mean": _reduce("mean"), "amax": _reduce("max"), "amin": _reduce("min"),
    "any": lambda o, x, dim=None, keepdim=False: f"cast(any({x}, axis={_list(x.axes(dim))}, keep={int(keepdim)}), {o.dtype})",
    "all": lambda o, x, dim=None, keepdim=False: f"cast(all({x}, axis={_list(x.axes(dim))}, keep={int(keepdim)}), {o.dtype})",
    "prod": _reduce("prod"), "argmax": _position("argmax"), "argmin": _position("argmin"),
    "max": lambda o, x, *args: (_reduce("max")(o, x, *args), None) if args else _reduce("max")(o, x),
    "min": lambda o, x, *args: (_reduce("min")(o, x, *args), None) if args else _reduce("min")(o, x),
    "var": _spread("var"), "std": _spread("std"),
    "std_mean": lambda o, x, *args, **more: (_spread("std")(o, x, *args, **more), None),
    "linalg_vector_norm": lambda o, x, order=2, dim=None, keepdim=False: _norm_of(x, order, dim, keepdim),
    "norm": lambda o, x, order=2, dim=None, keepdim=False: _norm_of(x, 2 if order is None else order, dim, keepdim),
    "var_mean": lambda o, x, *args, **more: (_spread("var")(o, x, *args, **more), _reduce("mean")(
        o, x, args[0] if args and not isinstance(args[0], bool) else None, more.get("keepdim", args[2] if len(args) > 2 else False))),
    "cumsum": lambda o, x, dim, dtype=None: f"cumsum({_to(x, o.dtype)}, axis={x.axis(dim)})",
    "cumprod": lambda o, x, dim, dtype=None: f"cumprod({_to(x, o.dtype)}, axis={x.axis(dim)})",
    "logsumexp": lambda o, x, dim, keepdim=False: f"reshape(logsumexp({x}, axis={x.axes(dim)[0]}), shape={_list(o.shape)})"
    if len(x.axes(dim)) == 1 else _refuse("logsumexp over several axes"),
    "sort": lambda o, x, dim=-1, descending=False, stable=None: (f"sort({x}, axis={x.axis(dim)}, descending={int(descending)})", None),
    "topk": lambda o, x, k, dim=-1, largest=True, order=True: (
        f"top_k({x}, k={k}, axis={x.axis(dim)}, largest={int(largest)})" if order else None, None),
    "mm": lambda o, x, y: f"({x} @ {y})", "bmm": lambda o, x, y: f"({x} @ {y})", "addmm": _product, "baddbmm": _product,
    "mv": lambda o, x, y: f"reshape({x} @ reshape({y}, shape=[-1,1]), shape={_list(o.shape)})",
    "dot": lambda o, x, y: f"reshape(reshape({x}, shape=[1,-1]) @ reshape({y}, shape=[-1,1]), shape=[])",
    "convolution": _convolution, "_softmax": lambda o, x, dim, half: f"softmax({_to(x, o.dtype)}, axis={x.axis(dim)})",
    "_log_softmax": lambda o, x, dim, half: f"log_softmax({_to(x, o.dtype)}, axis={x.axis(dim)})",
    "_fused_rms_norm": lambda o, x, shape, w, eps: (
        f"rms_norm({x}{f', w={w}' if w is not None else ''}, eps={_torch.finfo(getattr(_torch, x.dtype)).eps if eps is None else eps!r})"
        if len(shape) == 1 else _refuse("has no row over several axes"), None),
    "native_layer_norm": _norm, "native_group_norm": _group_norm, "native_batch_norm": _batch_norm,
    "_native_batch_norm_legit": _batch_norm, "_native_batch_norm_legit_no_training": _no_training,
    "cudnn_batch_norm": lambda o, *args: (_batch_norm(o, *args)[0], None, None, None),
    "max_pool2d_with_indices": _pool("max_pool", 2, True), "max_pool3d_with_indices": _pool("max_pool", 3, True),
    "avg_pool2d": _pool("avg_pool", 2), "avg_pool3d": _pool("avg_pool", 3),
    "_adaptive_avg_pool2d": lambda o, x, size: f"adaptive_avg_pool2d({x}, size={_list(o.shape[-2:])})",
    **{name: _attention for name in (
        "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
        "_scaled_dot_product_attention_math", "scaled_dot_product_attention")},
    "upsample_bilinear2d": _interpolate("bilinear", 2), "upsample_bicubic2d": _interpolate("bicubic", 2),
    "upsample_linear1d": _interpolate("linear", 1), "upsample_nearest2d": _interpolate("nearest", 2, False),
    "upsample_nearest1d": _interpolate("nearest", 1, False),
    "embedding": _embedding, "index": _index, "gather": lambda o, x, dim, index, sparse_grad=False: (
        f"take_along({x}, {index}, axis={x.axis(dim)})"),
    "index_select": lambda o, x, dim, index: f"index_select({x}, {index}, axis={x.axis(dim)})",
    **{name: _loss(name) for name in ("mse_loss", "smooth_l1_loss", "huber_loss")},
    "binary_cross_entropy": lambda o, x, target, weight=None, reduction=1: (
        f"binary_cross_entropy({x}, {target}{f', weight={weight}' if weight is not None else ''}, "
        f"reduction={('none', 'mean', 'sum')[reduction]})"),
    "nll_loss_forward": _nll, "nll_loss2d_forward": _nll,
    **dict.fromkeys(("view", "_unsafe_view", "reshape", "_reshape_alias", "unsqueeze", "squeeze"), _shaped),
    "t": lambda o, x: f"transpose({x})" if len(x.shape) == 2 else str(x),
    "transpose": lambda o, x, a, b: f"transpose({x}, a={x.axis(a)}, b={x.axis(b)})",
    "permute": lambda o, x, dims: f"permute({x}, order={_list(x.axes(dims))})",
    "expand": lambda o, x, *unused, **more: str(x) if x.shape == o.shape else (
        f"expand({_shape(x, [1] * (len(o.shape) - len(x.shape)) + list(x.shape))}, shape={_list(o.shape)})"),
    "split": lambda o, x, size, dim=0: tuple(
        _slice(o, x, dim, i, i + size) for i in range(0, x.shape[x.axis(dim)], size)),
    "split_with_sizes": lambda o, x, sizes, dim=0: tuple(
        _slice(o, x, dim, sum(sizes[:i]), sum(sizes[:i + 1])) for i in range(len(sizes))),
    "unbind": lambda o, x, dim=0: tuple(_select(o, x, dim, i) for i in range(x.shape[x.axis(dim)])),
    "slice": _slice, "select": _select, "cat": _concat, "stack": _stack, "constant_pad_nd": _pad,
    "reflection_pad2d": lambda o, x, pad: _pad(o, x, pad, 0, "reflect"),
    "reflection_pad1d": lambda o, x, pad: _pad(o, x, pad, 0, "reflect"),
    "replication_pad2d": lambda o, x, pad: _pad(o, x, pad, 0, "edge"),
    "repeat": lambda o, x, times: (
        f"tile(reshape({x}, shape={_list([1] * (len(times) - len(x.shape)) + list(x.shape))}), times={_list(times)})"),
    "roll": lambda o, x, shifts, dims=(): f"roll({x}, shift={shifts[0]}, axis={x.axis(dims[0])})"
    if len(dims) == 1 else _refuse("roll over several axes"),
    "pixel_shuffle": lambda o, x, block: f"depth_to_space({x}, block={block}, mode=crd)",
    "im2col": lambda o, x, size, dilation, padding, stride: (
        f"unfold({x}, size={_list(size)}, dilation={_list(dilation)}, padding={_list(padding)}, stride={_list(stride)})"),
    "grid_sampler_2d": lambda o, x, grid, mode, padding, corners: (
        f"grid_sample({x}, {grid}, mode={('bilinear', 'nearest', 'bicubic')[mode]}, "
        f"padding_mode={('zeros', 'border', 'reflection')[padding]}, align_corners={int(corners)})"),
    "index_add": lambda o, x, dim, index, y: f"index_add({x}, {index}, {y}, axis={x.axis(dim)})",
    "binary_cross_entropy_with_logits": lambda o, x, target, weight=None, pos_weight=None, reduction=1: (
        f"binary_cross_entropy_with_logits({', '.join([str(x), str(target), *(f'{k}={v}' for k, v in (('weight', weight), ('pos_weight', pos_weight)) if v is not None)])}, "
        f"reduction={('none', 'mean', 'sum')[reduction]})"),
    "flip": lambda o, x, dims: f"flip({x}, axis={_list(x.axes(dims))})",
    "tril": lambda o, x, diagonal=0: f"tril({x}, diagonal={diagonal})",
    "triu": lambda o, x, diagonal=0: f"triu({x}, diagonal={diagonal})",
    **dict.fromkeys(("clone", "alias", "detach", "contiguous", "_to_copy", "lift_fresh_copy", "lift_fresh"), _same),
    "copy": lambda o, x, y, *unused: f"expand({_to(y, o.dtype)}, shape={_list(o.shape)})" if y.shape != o.shape else _to(y, o.dtype),
    # gradients
    "threshold_backward": lambda o, g, x, at: f"where({x} <= {_number(at)}, 0, {g})",
    "sigmoid_backward": lambda o, g, y: f"{g} * (1 - {y}) * {y}", "tanh_backward": lambda o, g, y: f"{g} * (1 - {y} * {y})",
    "_softmax_backward_data": lambda o, g, y, dim, dtype: (
        f"{g} * {y} - {y} * sum({g} * {y}, axis={y.axis(dim)}, keep=1)" if y.device == "cuda" else
        f"({g} - sum({g} * {y}, axis={y.axis(dim)}, keep=1)) * {y}"),
    "_log_softmax_backward_data": lambda o, g, y, dim, dtype: f"{g} - exp({y}) * sum({g}, axis={y.axis(dim)}, keep=1)",
}
# Neither arithmetic nor a copy of one's: their results are inputs of what follows.
_GIVEN = frozenset("zeros ones full empty arange scalar_tensor zeros_like ones_like full_like empty_like new_empty new_zeros "
                   "new_full rand randn rand_like randn_like bernoulli native_dropout normal uniform randint empty_strided "
                   "_local_scalar_dense is_same_size fill zero random exponential resize set".split())
_RANDOM = frozenset("rand randn rand_like randn_like bernoulli native_dropout normal uniform randint randperm multinomial".split())
_MOVED = frozenset("view _unsafe_view reshape _reshape_alias unsqueeze squeeze t transpose permute expand slice select clone "
                   "alias detach contiguous lift_fresh_copy lift_fresh flip as_strided split split_with_sizes unbind".split())


def _refuse(what):
    raise _Unknown(what)


def _name_of(op):
    return getattr(op, "_schema", None).name.split("::")[-1] if hasattr(op, "_schema") else getattr(op, "__name__", str(op))


def _texts(name, args, kwargs, result):
    """The formulas of an operation's results, from its arguments, in which tensors are terms."""
    row = _ROWS.get(name)
    if row is None:
        raise _Unknown("has no row")
    first = result[0] if isinstance(result, (tuple, list)) else result
    kwargs = {k: v for k, v in kwargs.items() if k not in ("device", "layout", "pin_memory", "memory_format", "non_blocking",
                                                           "generator", "implicit", "dtype")}
    try:
        made = row(_Term("", first), *args, **kwargs)
    except (TypeError, IndexError, AttributeError) as e:
        raise _Unknown("has no row for these arguments") from e
    texts = made if isinstance(made, tuple) else (made,)
    results = result if isinstance(result, (tuple, list)) else (result,)
    read = set()
    _map(lambda x: read.add(x.dtype) if isinstance(x, _Term) else None, (args, kwargs))
    return [text if text is None or not isinstance(r, _torch.Tensor) or (read == {_type(r.dtype)} and "float32" not in text)
            else f"cast({text}, {_type(r.dtype)})" for text, r in zip(texts, results)]


def _host(tensor):
    return tensor.detach().cpu().contiguous()


def _allowed(text):
    return _ROOTS if _re.search(r"\bsqrt\(", text) else "library"


class Formula:
    """A function of PyTorch as formulas: .texts, one for each result, and the arrays that they read, .inputs, by name."""

    def __init__(self, texts, inputs, single):
        self.texts, self.inputs, self._single = texts, inputs, single

    def __str__(self):
        return "\n".join(self.texts)

    def kernel(self, result=0):
        """The touchstone.kernel.Kernel of a result, and its inputs in order."""
        text = self.texts[result]
        made = _kernel.Kernel.from_formula(text)
        return made, [_host(self.inputs[name]) for name in made.inputs]

    def judge(self, actual, profile=None):
        """The Verdict on the results, a tensor or as many as the function returns."""
        given = [_torch.as_tensor(t) for t in ([actual] if self._single else actual)]
        if len(given) != len(self.texts):
            raise ValueError(f"the function returns {len(self.texts)} tensors; {len(given)} are given")
        verdicts = []
        for i, tensor in enumerate(given):
            kernel, arrays = self.kernel(i)
            verdicts.append(_kernel.check(kernel, arrays, _host(tensor), profile or _allowed(self.texts[i])))
        return verdicts[0] if len(verdicts) == 1 else _kernel.combine(verdicts)


def _declare(text, arrays):
    """The text with sizes and types, where each input first stands."""
    for name, x in arrays.items():
        declared = f"{name}[{','.join(map(str, x.shape))}]:{_type(x.dtype)}"
        text = _re.sub(rf"\b{name}\b", lambda _: declared, text, count=1)
    return text


class _Writer(_torch.fx.Interpreter):
    """Runs a traced function and writes each operation as a part of the formula."""

    def __init__(self, graph):
        super().__init__(graph)
        self.inputs, self.parts, self.of = {}, [], {}

    def term(self, tensor):
        if id(tensor) not in self.of:
            name = f"x{len(self.inputs) + 1}"
            self.inputs[name] = tensor
            self.of[id(tensor)] = _Term(name, tensor), tensor  # kept, so that its id stays its own
        return self.of[id(tensor)][0]

    def call_function(self, target, args, kwargs):
        result = super().call_function(target, args, kwargs)
        if target is _operator.getitem:
            return result
        name = _name_of(target)
        if name in _GIVEN:
            return result
        try:
            terms = _map(lambda x: self.term(x) if isinstance(x, _torch.Tensor) else x, (args, kwargs))
            texts = _texts(name, *terms, result)
        except _Unknown as e:
            raise TypeError(f"there is no formula for {target}: {e}; judge the parts around it, or use watch") from None
        for text, value in zip(texts, result if isinstance(result, (tuple, list)) else (result,)):
            if text is not None and text.isidentifier():
                self.of[id(value)] = _Term(text, value), value
            elif text is not None:
                part = f"t{len(self.parts) + 1}"
                self.parts.append((part, text))
                self.of[id(value)] = _Term(part, value), value
        return result

    def text_of(self, tensor):
        """The parts that the result needs, with each input declared where it first stands."""
        last = str(self.term(tensor))
        kept, needed = [last], last
        for name, text in reversed(self.parts):
            if _re.search(rf"\b{name}\b", needed):
                kept.insert(0, f"{name} = {text};")
                needed += " " + text
        return _declare("\n".join(kept), self.inputs)


def formula(fn, *inputs) -> Formula:
    """The formula of what fn computes of these tensors, traced once. Raises TypeError for an operation without a formula."""
    from torch.fx.experimental.proxy_tensor import make_fx
    if type(fn).__name__ == "ExportedProgram":  # of torch.export
        fn = fn.module()
    for x in inputs:
        if not isinstance(x, _torch.Tensor):
            raise TypeError(f"formula: the inputs are tensors of PyTorch, not {type(x).__name__}; bind others by a lambda")
    with _torch.no_grad():
        graph = make_fx(fn)(*inputs)
        for node in graph.graph.nodes:
            name = _name_of(node.target) if node.op == "call_function" else ""
            if "out" in node.kwargs or (name.endswith("_") and not name.startswith("_")):
                raise TypeError(f"the function changes a tensor in place ({name}); write it without, as x = x + y")
            if name in _RANDOM:
                raise TypeError(f"the function draws random numbers ({name}); draw them outside, as an input")
        graph.graph.eliminate_dead_code()
        writer = _Writer(graph)
        try:
            for tensor in inputs:
                writer.term(tensor)
        except _Unknown as e:
            raise TypeError(f"there is no formula for {e}") from None
        results = writer.run(*inputs)
    single = isinstance(results, _torch.Tensor)
    if not single and not (isinstance(results, (tuple, list)) and all(isinstance(r, _torch.Tensor) for r in results)):
        raise TypeError("the function returns something other than a tensor, or a tuple of tensors")
    return Formula([writer.text_of(r) for r in ([results] if single else results)], writer.inputs, single)


def judge(fn, *inputs, actual, profile=None):
    """The Verdict on `actual`, a tensor or several, as the results of fn(*inputs); fn may be a program of torch.export."""
    return formula(fn, *inputs).judge(actual, profile)


class Operation:
    """One result of an operation that ran: .name ("aten.add.Tensor"), .formula, .verdict, .where (file:line)."""

    def __init__(self, name, formula, verdict, where):
        self.name, self.formula, self.verdict, self.where = name, formula, verdict, where

    def __str__(self):
        return f"{self.name} at {self.where}: {self.verdict}"


class Seen:
    """What `watch` saw: .operations; of them .failures, which are not legal, and .weak, whose legal numbers are too wide to
    tell; .unjudged (names and counts) and .moved (a count)."""

    def __init__(self):
        self.operations, self.unjudged, self.moved = [], _collections.Counter(), 0

    def add(self, operation, raises):
        self.operations.append(operation)
        if raises and not operation.verdict.legal:
            raise AssertionError(str(operation))

    @property
    def failures(self):
        return [o for o in self.operations if not o.verdict.legal]

    @property
    def weak(self):
        return [o for o in self.operations if o.verdict.status == "WEAK"]

    def __str__(self):
        counts = _collections.Counter((o.name, o.verdict.status) for o in self.operations)
        lines = [f"{n:6} {status:5} {name}" for (name, status), n in sorted(counts.items(), key=lambda c: (c[0][1], c[0][0]))]
        lines += [f"{n:6} not judged: {name}" for name, n in sorted(self.unjudged.items())]
        return "\n".join([*lines, *map(str, self.failures + self.weak)]) or "no operation ran"


class compiled:
    """A backend of torch.compile that judges the results of another one, on the values that each graph ran on.

    inner: the other's name, or a function of (graph, inputs). profile, largest, raises: as of watch, of a graph's results;
    raises is the default. .seen: a Seen, whose operations are the graphs' results.
    """

    def __init__(self, inner="inductor", profile=None, *, largest=1 << 20, raises=True):
        self.inner, self.profile, self.largest, self.raises, self.seen = inner, profile, largest, raises, Seen()
        self.graphs, self.__name__ = 0, f"touchstone({inner if isinstance(inner, str) else getattr(inner, '__name__', 'inner')})"

    def __call__(self, graph, inputs, **options):
        inner = self.inner
        if isinstance(inner, str):
            if not hasattr(_torch, "_dynamo"):
                raise TypeError(f"PyTorch {_torch.__version__} has no torch.compile; it needs 2.0 or later")
            inner = _torch._dynamo.lookup_backend(inner)
        reference = _copy.deepcopy(graph)  # the other backend may rewrite its graph
        made = inner(graph, inputs, **options)
        self.graphs += 1
        name = f"graph {self.graphs}"

        def run(*args):
            before = [a.detach().clone() if isinstance(a, _torch.Tensor) else a for a in args]
            result = made(*args)
            with _torch.random.fork_rng(devices=[]):
                self._judge(name, reference, before, result)
            return result
        return run

    def _judge(self, name, graph, args, result):
        at = [i for i, a in enumerate(args) if isinstance(a, _torch.Tensor)]
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        kept = [i for i, r in enumerate(results) if isinstance(r, _torch.Tensor)]

        def reference(*tensors):
            given = list(args)
            for i, tensor in zip(at, tensors):
                given[i] = tensor
            made = graph(*given)
            made = list(made) if isinstance(made, (tuple, list)) else [made]
            return tuple(made[i] for i in kept)
        where = _where()
        try:
            text = formula(reference, *(args[i] for i in at))
        except Exception as why:  # the program that is watched goes on
            self.seen.unjudged[f"{name}: {(str(why).splitlines() or [type(why).__name__])[0]}"] += 1
            return
        for n, i in enumerate(kept):
            if results[i].numel() > self.largest:
                self.seen.unjudged[f"{name}: more than {self.largest} elements"] += 1
                continue
            try:
                kernel, arrays = text.kernel(n)
                verdict = _kernel.check(kernel, arrays, _host(results[i]), self.profile or _allowed(text.texts[n]))
            except Exception as e:  # the program that is watched goes on
                self.seen.unjudged[f"{name}: {(str(e).splitlines() or [type(e).__name__])[0]}"] += 1
                continue
            self.seen.add(Operation(f"{name}, result {i}", text.texts[n], verdict, where), self.raises)


def _where():
    return next((f"{f.filename}:{f.lineno}" for f in reversed(_traceback.extract_stack())
                 if not f.filename.startswith((_PYTORCH, __file__, "<"))), "")


class watch(_Mode):
    """A scope in which every operation of PyTorch is judged on the values that it had, on any device.

    profile: the arithmetic that is allowed (docs/oracle.md); largest: the most elements of a result that are judged.
    raises: at the first that is not legal, instead of noting it. Yields a Seen.
    """

    def __init__(self, profile=None, *, largest=1 << 20, raises=False):
        super().__init__()
        self.profile, self.largest, self.raises, self.seen = profile, largest, raises, Seen()

    def __enter__(self):
        super().__enter__()
        return self.seen

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = _name_of(op)
        row = name[:-1] if name.endswith("_") and (name[:-1] in _ROWS or name[:-1] in _GIVEN) else name
        before = _map(lambda x: x.detach().clone() if isinstance(x, _torch.Tensor) else x, (args, kwargs)) \
            if row != name else (args, kwargs)
        result = op(*args, **kwargs)
        if row in _MOVED:
            self.seen.moved += 1
        elif row not in _GIVEN:
            self._judge(op, row, *before, result)
        return result

    def _judge(self, op, row, args, kwargs, result):
        arrays = {}

        def term(x):
            if not isinstance(x, _torch.Tensor):
                return x
            name = next((n for n, a in arrays.items() if a is x), None)
            if name is None:
                name = f"x{len(arrays) + 1}"
                arrays[name] = x
            return _Term(name, x)
        try:
            terms = _map(term, (args, kwargs))
            texts = _texts(row, *terms, result)
        except _Unknown as e:
            self.seen.unjudged[f"{op}: {e}"] += 1
            return
        where = _where()
        for text, value in zip(texts, result if isinstance(result, (tuple, list)) else (result,)):
            if text is None:
                continue
            if value.numel() > self.largest:
                self.seen.unjudged[f"{op}: more than {self.largest} elements"] += 1
                continue
            declared = _declare(text, arrays)
            try:
                kernel = _kernel.Kernel.from_formula(declared)
                verdict = _kernel.check(kernel, [_host(arrays[n]) for n in kernel.inputs], _host(value),
                                        self.profile or _allowed(declared))
            except Exception as e:  # the program that is watched goes on
                self.seen.unjudged[f"{op}: {(str(e).splitlines() or [type(e).__name__])[0]}"] += 1
                continue
            self.seen.add(Operation(str(op), declared, verdict, where), self.raises)


def _dim(function, result=lambda x: x):
    return lambda x, axis: result(function(x, dim=axis))


def _windows(function):
    return lambda x, size, stride: function(x, size, stride)


class Adapter(_Adapter):
    """PyTorch, on the CPU or --device cuda; --compile judges what torch.compile makes of each function."""
    name = "torch"
    declared = {"ulp": {"sqrt": 1}, "casts_saturate": False, "zeros_alike": True}

    def __init__(self, device="cpu", compile=False):
        self.version, self.device = _torch.__version__, _torch.device(device)
        if self.device.type == "cuda":
            self.declared = {"base": "cuda", "casts_saturate": False, "zeros_alike": True}
            self.library = {"ulp": {"recip": 2}}  # rsqrtf's documented error in CUDA
            if compile:  # Triton's exp2 and division are PTX's ex2.approx.ftz and div.full
                self.declared.update({"flush": "both", "ulp": {"exp2": 2.5, "recip": 2.5, "div": 2.5}})
            _torch.backends.cuda.matmul.allow_tf32 = _torch.backends.cudnn.allow_tf32 = False
        self.functions = {
            "exp2": _torch.exp2, "log2": _torch.log2, "sin": _torch.sin, "sqrt": _torch.sqrt, "recip": _torch.reciprocal,
            "neg": _torch.neg, "add": _torch.add, "sub": _torch.sub, "mul": _torch.mul, "div": _torch.div,
            "maximum": _torch.maximum, "mod": _torch.fmod, "cmplt": _torch.lt, "cmpeq": _torch.eq, "exp": _torch.exp,
            "log": _torch.log, "abs": _torch.abs, "rsqrt": _torch.rsqrt, "sigmoid": _torch.sigmoid, "relu": _torch.relu,
            "silu": _F.silu, "softmax": _dim(_torch.softmax), "log_softmax": _dim(_torch.log_softmax),
            "logsumexp": _dim(_torch.logsumexp), "sum": _dim(_torch.sum), "mean": _dim(_torch.mean),
            "max": _dim(_torch.amax), "min": _dim(_torch.amin), "cumsum": _dim(_torch.cumsum),
            "var": lambda x, axis: _torch.var(x, dim=axis, unbiased=False), "matmul": _torch.matmul,
            "layer_norm": lambda x, w, b: _F.layer_norm(x, x.shape[-1:], w, b),
            "std": lambda x, axis: _torch.std(x, dim=axis, unbiased=False), "batch_norm": _F.batch_norm,
            "group_norm": lambda x, w, b, groups: _F.group_norm(x, groups, w, b),
            "instance_norm": lambda x, w, b: _F.instance_norm(x, weight=w, bias=b),
            "linear": _F.linear, "conv1d": _F.conv1d, "conv2d": _F.conv2d, "gelu": _F.gelu,
            "gelu_tanh": lambda x: _F.gelu(x, approximate="tanh"), "softplus": _F.softplus,
            **{name: _windows(getattr(_F, name)) for name in ("max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d")},
            **{name: getattr(_torch, name) for name in (
                "expm1", "log10", "log1p", "tanh", "erf", "erfc", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
                "asinh", "acosh", "atanh", "lgamma", "digamma", "erfinv", "floor", "ceil", "round", "trunc", "atan2", "pow",
                "hypot")},
        }
        if hasattr(_F, "scaled_dot_product_attention"):
            self.functions["attention"] = _F.scaled_dot_product_attention
        if compile:
            if not hasattr(_torch, "compile"):
                raise ImportError(f"torch {_torch.__version__} has no torch.compile; it needs 2.0 or later")
            self.functions = {name: _torch.compile(f) for name, f in self.functions.items()}

    def to(self, array, dtype):
        if dtype == "bfloat16":  # whose bits NumPy holds
            return _torch.from_numpy(array.view("int16")).view(_torch.bfloat16).to(self.device)
        return _torch.from_numpy(array).to(self.device)

    def back(self, array):
        return array.detach().cpu()
