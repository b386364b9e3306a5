"""Definitions beside NumPy and PyTorch, on drawn shapes and numbers: how each is drawn and computed there.

    PYTHONPATH=build/dev/python python3 tests/python/beside.py [numpy | torch] [draws] [type] [a name]     prints disagreements
    .. beside.py power                                   the smallest fault of one element that is found, for each definition
    .. beside.py named [numpy | torch] [draws] [type]    elementwise functions computed by the library in the type itself

Results of NumPy are computed in float64 where they round, then rounded once to the type. Arguments have the names of the
definition.
"""
import collections
import math
import sys

import numpy as np

from touchstone import kernel

F = np.float32
TYPES = {"bfloat16": "bf16", "float32": "f32", "float64": "f64", "float16": "f16", "int32": "i32", "int64": "i64", "int8": "i8", "uint8": "u8", "bool": "bool"}
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-45, 3e38, 1.0, 1.0], F)


class Draw:
    def __init__(self, seed): self.rng = np.random.default_rng(seed)
    def int(self, low, high): return int(self.rng.integers(low, high + 1))
    def pick(self, *options): return options[self.int(0, len(options) - 1)]

    def shape(self, least=0, most=4):
        sizes = [self.int(1, 5) for _ in range(self.int(least, most))]
        if sizes and not self.int(0, 9):
            sizes[self.int(0, len(sizes) - 1)] = 0
        return sizes

    def laid(self, x):
        """The same numbers with negative strides, in columns, or, of other numbers, with a stride of 0."""
        x, how = np.asarray(x), self.int(0, 3)
        if how == 1 and x.ndim:
            return np.flip(np.flip(x).copy())
        if how == 2 and x.ndim:
            return np.asfortranarray(x)
        if how == 3 and x.ndim and x.shape[0]:
            return np.broadcast_to(x[:1], x.shape)
        return x

    def floats(self, *shape, special=True):
        kind = self.int(0, 2 if special else 1)
        x = self.rng.normal(0, 2, shape).astype(F) if kind else (self.rng.integers(-8, 9, shape) / 4).astype(F)
        if kind == 2:
            x = np.where(self.rng.random(shape) < 0.3, self.rng.choice(SPECIAL, shape), x).astype(F)
        return self.laid(x)

    def ints(self, low, high, *shape, dtype=np.int64): return self.laid(self.rng.integers(low, high + 1, shape).astype(dtype))
    def bools(self, *shape): return self.laid(self.rng.random(shape) < 0.6)
    def axis(self, x): return self.int(-x.ndim, x.ndim - 1)


def called(f, arguments):
    try:
        return f(**arguments)
    except TypeError:  # NumPy has other names
        return f(*arguments.values())


def rounded(f, dtype=float):
    def wide(v): return v.astype(float) if is_drawn(v) else v
    return lambda **k: called(f, {n: wide(v) for n, v in k.items()}).astype(dtype)


def is_drawn(v): return isinstance(v, np.ndarray) and v.dtype == F
def in_type(x, kind):
    """Floats rounded to a type; bfloat16 as its numbers in float32."""
    if kind != "bfloat16":
        return np.asarray(x).astype(kind)
    x = np.array(x, float, order="C")
    one, bits = np.uint64(1), x.view(np.uint64)
    near = (bits + np.uint64((1 << 44) - 1) + (bits >> np.uint64(45) & one) & ~np.uint64((1 << 45) - 1)).view(float)
    return np.where(np.isnan(x), x, np.where(abs(x) < 2.0**-126, np.rint(x * 2.0**133) * 2.0**-133, near)).astype(F)
def bits_of(x): return np.asarray(np.ascontiguousarray(x, F).view(np.uint32) >> 16).astype(np.uint16).reshape(np.shape(x))


def each(f):
    def safe(*v):
        try:
            return f(*v)
        except (ValueError, OverflowError):
            return math.inf if f is math.lgamma else math.nan
    return lambda *x: np.vectorize(safe, otypes=[float])(*x)


# ---- how arguments are drawn: arrays and others by name
def one(d): return {"x": d.floats(*d.shape())}
def finite(d): return {"x": d.floats(*d.shape(), special=False)}
def with_integers(d): return {"x": d.ints(-128, 127, *d.shape(), dtype=np.int8)}
def broadcast(d, draw):
    shape = d.shape()
    return {n: draw(*[s if d.int(0, 3) else min(s, 1) for s in shape[d.int(0, len(shape)) if n == "y" else 0:]]) for n in "xy"}
def two(d): return broadcast(d, d.floats)
def two_integers(d): return broadcast(d, lambda *s: d.ints(-9, 40, *s, dtype=np.int32))
def along(d, least=1, **more):
    x = d.floats(*d.shape(least))
    return {"x": x, "axis": d.axis(x), **{n: d.pick(*v) for n, v in more.items()}}
def filled(d, **more):
    x = d.floats(*[max(s, 1) for s in d.shape(1)])
    return {"x": x, "axis": d.axis(x), **more}
def over_axes(d, special=True, **more):
    x = d.floats(*d.shape(1, 3), special=special)
    return {"x": x, "axis": [d.axis(x)] if d.int(0, 1) else list(range(x.ndim)), "keep": d.int(0, 1), **more}
def filled_axes(d, special=True):
    x = d.floats(*[max(s, 1) for s in d.shape(1, 3)], special=special)
    return {"x": x, "axis": [d.axis(x)] if d.int(0, 1) else list(range(x.ndim)), "keep": d.int(0, 1)}
def with_number(**numbers): return lambda d: {"x": d.floats(*d.shape()), **{n: d.pick(*v) for n, v in numbers.items()}}
def loss(positive=False):
    def draw(d):
        shape = d.shape(1, 3)
        x, y = (d.floats(*shape, special=False) for _ in "xy")
        x, y = (1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-y))) if positive else (x, y)
        return {"x": x, "target": y, "reduction": d.pick("none", "mean", "sum") if x.size else "none"}
    return draw
def ranked(*names, **more):
    def draw(d):
        shape = d.shape(1, 3)
        arrays = {n: d.floats(*shape, special=False) for n in names}
        signs = np.where(d.floats(*shape, special=False) < 0, F(-1), F(1))
        return {**arrays, "target": signs, **more, "reduction": d.pick("none", "mean", "sum") if signs.size else "none"}
    return draw
def rows_of(*names, target=None, special=False, **more):
    """Arrays (n, k), and one sign, label or share for each row, or share for each element."""
    def draw(d):
        n, k = d.int(1, 4), d.int(1, 6)
        arrays = {name: d.floats(n, k, special=special) for name in names}
        if target == "sign":
            arrays["target"] = np.where(d.floats(n, special=False) < 0, F(-1), F(1))
        elif target == "label":
            arrays["target"] = np.array([d.int(0, k - 1) for _ in range(n)], np.int64)
        elif target == "share":
            arrays["target"] = (d.floats(n, k, special=False) < 0).astype(F)
        return {**arrays, **more, **({"reduction": d.pick("none", "mean", "sum")} if target or len(names) > 2 else {})}
    return draw
def cosine(x, y, axis=-1, eps=0.0): return (x * y).sum(axis) / np.sqrt(((x * x).sum(axis) + eps) * ((y * y).sum(axis) + eps))
def apart(x, y, eps=1e-6): return np.sqrt(((x - y + eps) ** 2).sum(-1))
def stirling(t): return np.where(t > 1, t * np.log(np.maximum(t, 1)) - t + np.log(2 * np.pi * np.maximum(t, 1)) / 2, 0)
def margins(x, target, p, margin):
    d = np.maximum(margin - np.take_along_axis(x, target[:, None], 1) + x, 0) ** p
    np.put_along_axis(d, target[:, None], 0, 1)
    return d.sum(1) / x.shape[1]
def response_norm(x, size, alpha, beta, k):
    square = np.pad(x * x, [(0, 0), (size // 2, (size - 1) // 2), (0, 0)])
    return x / (k + alpha / size * sum(square[:, i:i + x.shape[1]] for i in range(size))) ** beta
def matrices(d):
    n, k, m, lead = d.int(0, 4), d.int(0, 5), d.int(1, 4), d.shape(0, 1)
    return {"a": d.floats(*lead, n, k), "b": d.floats(*(lead if d.int(0, 1) else []), k, m)}
def pool(axes, **more):
    def draw(d):
        size = [d.int(1, 3) for _ in range(axes)]
        return {"x": d.floats(d.int(1, 2), d.int(1, 2), *[d.int(s, 6) for s in size]), "size": size, "stride": [d.int(1, 3) for _ in size],
                "padding": [d.int(0, s // 2) for s in size], **{n: d.pick(*v) for n, v in more.items()}}
    return draw
def conv(axes, transposed=False):
    def draw(d):
        groups, size = d.int(1, 2), [d.int(1, 3) for _ in range(axes)]
        i, o = groups * d.int(1, 2), groups * d.int(1, 2)
        stride, dilation, padding = ([d.int(low, high) for _ in size] for low, high in ((1, 2), (1, 2), (0, 1)))
        x = d.floats(d.int(1, 2), i, *[d.int(2 * s + 1, 7) for s in size], special=False)
        return {"x": x, "w": d.floats(*((i, o // groups) if transposed else (o, i // groups)), *size, special=False),
                "b": d.floats(o, special=False), "stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return draw
def positions(d, x, axis, updates=False):
    """An index that fits x, no place twice: what happens otherwise is open, but for sums."""
    shape = [d.int(min(s, 2), s) if i != axis % x.ndim else s for i, s in enumerate(x.shape)]
    index = d.rng.permuted(np.broadcast_to(np.arange(x.shape[axis]).reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]), shape), axis=axis)
    return np.ascontiguousarray(index[tuple(slice(d.int(1, s)) if i == axis % x.ndim else slice(None) for i, s in enumerate(shape))])
def indexed(d):
    x = d.floats(*[max(s, 1) for s in d.shape(1)])
    axis = d.axis(x)
    return {"x": x, "index": positions(d, x, axis), "axis": axis}
def scattered(*reduce):
    def draw(d):
        x = d.floats(*[max(s, 1) for s in d.shape(1)], special=False)
        axis, by = d.axis(x), d.pick(*reduce)
        index = positions(d, x, axis)
        if by != "none":
            index = d.ints(0, x.shape[axis] - 1, *index.shape)
        return {"x": x, "index": index, "updates": d.floats(*index.shape, special=False), "axis": axis, "reduce": by}
    return draw
def segments(d):
    n, count = d.int(0, 6), d.int(1, 4)
    return {"x": d.floats(n, *d.shape(0, 2), special=False), "index": d.ints(0, count - 1, n), "segments": count}
def classes(shares=False, **more):
    def draw(d):
        n, c, rest = d.int(1, 4), d.int(1, 5), d.shape(0, 1)
        if shares and d.int(0, 1):
            return {"x": d.floats(n, c, *rest, special=False), "target": abs(d.floats(n, c, *rest, special=False)), **({"weight": abs(d.floats(c, special=False)) + F(1)} if d.int(0, 1) else {}),
                    "reduction": d.pick("none", "mean", "sum")}
        return {"x": d.floats(n, c, *rest, special=False), "target": d.ints(0, c - 1, n, *rest), **({"weight": abs(d.floats(c, special=False)) + F(1)} if d.int(0, 1) else {}),
                "ignore_index": d.pick(-100, 0), "reduction": d.pick("none", "sum"), **{n: d.pick(*v) for n, v in more.items()}}
    return draw
def norm(**more):
    def draw(d):
        x = d.floats(d.int(1, 3), 4, *[d.int(1, 3) for _ in range(d.int(1, 2))], special=False)
        return {"x": x, **({"w": d.floats(4, special=False), "b": d.floats(4, special=False)} if d.int(0, 1) else {}), **more}
    return draw
def last_norm(*names):
    def draw(d):
        x = d.floats(*d.shape(0, 2), d.int(1, 6), special=False)
        return {"x": x, **{n: d.floats(x.shape[-1], special=False) for n in names}}
    return draw
def cell(gates):
    def draw(d):
        i, h, batch = d.int(1, 3), d.int(1, 3), [d.int(1, 3)]
        batch = [d.int(1, 3)] * d.int(0, 1) + batch
        arrays = {"x": batch + [i], "h": batch + [h], **({"c": batch + [h]} if gates == 4 else {}), "w_ih": [gates * h, i], "w_hh": [gates * h, h], "b_ih": [gates * h], "b_hh": [gates * h]}
        return {**{n: d.floats(*s, special=False) for n, s in arrays.items()}}
    return draw
def attended(d):
    n, m, k = d.int(1, 4), d.int(1, 5), d.int(1, 4)
    lead = d.shape(0, 1)
    return {"q": d.floats(*lead, n, k, special=False), "k": d.floats(*lead, m, k, special=False), "v": d.floats(*lead, m, d.int(1, 3), special=False),
            **({"mask": d.bools(n, m) | (np.arange(m) == 0)} if d.int(0, 1) else {})}
def pairs(*names, least=0): return lambda d: dict(zip(names, [d.floats(*s, 2, special=False) for s in [[max(v, least) for v in d.shape(1, 2)]] for _ in names]))
def resized(d):
    mode = d.pick("nearest", "nearest_exact", "bilinear", "bicubic")
    return {"x": d.floats(1, 2, d.int(1, 5), d.int(1, 5), special=False), "size": [d.int(1, 7), d.int(1, 7)], "mode": mode,
            "align_corners": d.int(0, 1) if mode[0] == "b" else 0}
def gridded(d):
    mode = d.pick("bilinear", "nearest", "bicubic")
    border = d.pick("zeros", "border", "reflection") if mode != "bicubic" else d.pick("zeros", "border")
    grid = (d.rng.integers(-70, 71, (1, d.int(1, 3), d.int(1, 3), 2)) / 61).astype(F)
    return {"x": d.floats(1, 2, d.int(1, 5), d.int(1, 5), special=False), "grid": grid, "mode": mode, "padding_mode": border, "align_corners": d.int(0, 1)}
def quantized(d):
    x = d.floats(d.int(1, 3), d.int(1, 4), special=False)
    each = d.int(0, 1)
    scale = (2.0 ** d.rng.integers(-4, 2, x.shape[1] if each else ())).astype(F)
    return {"x": x, "scale": scale, "zero_point": d.rng.integers(-3, 4, scale.shape).astype(np.int8)}
def padded(d):
    x, mode = d.floats(*[d.int(2, 5) for _ in range(d.int(1, 3))]), d.pick("constant", "reflect", "edge", "wrap", "symmetric")
    return {"x": x, "before": [d.int(0, s + 3 * (mode != "wrap")) for s in x.shape],  # NumPy 1.25 mended longer ones
            "after": [d.int(0, s + 3 * (mode != "wrap")) for s in x.shape], "mode": mode}
def blocks(d):
    b = d.int(1, 3)
    return {"x": d.floats(*d.shape(0, 1), d.int(1, 2) * b * b, d.int(1, 2) * b, d.int(1, 3) * b), "block": b, "mode": d.pick("dcr", "crd")}
def moved_to_fit(d, update=False):
    x = d.floats(*[d.int(1, 5) for _ in range(d.int(1, 3))])
    size = [d.int(0, s) for s in x.shape]
    start = d.ints(-2, 5, x.ndim)
    return {"x": x, "updates": d.floats(*size), "start": start} if update else {"x": x, "start": start, "size": size}
def nd(d):
    x = d.floats(*[d.int(1, 4) for _ in range(d.int(1, 3))])
    k = d.int(1, x.ndim)
    lead = d.shape(0, 2)
    return {"x": x, "index": np.stack([d.ints(-s, s - 1, *lead) for s in x.shape[:k]], -1)}


# ---- NumPy
def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True)) if x.size else x
    return e / e.sum(axis, keepdims=True)
def log_softmax(x, axis=-1):
    d = x - x.max(axis, keepdims=True) if x.size else x
    return d - np.log(np.exp(d).sum(axis, keepdims=True))
def sigmoid(x): return np.where(x < 0, np.exp(np.minimum(x, 0)) / (1 + np.exp(np.minimum(x, 0))), 1 / (1 + np.exp(-np.maximum(x, 0))))
def softplus(x): return np.logaddexp(x, 0)
def reduced_over(f): return lambda x, axis, keep: f(x, axis=tuple(axis), keepdims=bool(keep))
def gaussian(d):
    given = loss()(d)
    var = abs(given["x"]) + F(0.5)
    how = d.int(0, 2) if var.ndim and var.shape[-1] else 0
    return {**given, "var": var if how == 0 else np.ascontiguousarray(var[..., :1] if how == 1 else var[..., 0]), "full": 1}
def of_rows(var, x): return var[..., None] if var.ndim + 1 == x.ndim and var.shape == x.shape[:-1] else var
def reduction(f): return lambda x, target, reduction, **k: {"none": lambda v: v, "mean": np.mean, "sum": np.sum}[reduction](f(x, target, **k))
def beside_channels(v, x): return v.reshape([-1] + [1] * (x.ndim - 2))
def scaled(x, axes, w=None, b=None, eps=1e-5, shape=None):
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)
    y = y.reshape(shape) if shape else y
    return y if w is None else y * (beside_channels(w, y) if shape else w) + (beside_channels(b, y) if shape else b)
def grouped(x, groups, w=None, b=None): return scaled(x.reshape(x.shape[0], groups, -1), 2, w, b, shape=x.shape)
def windows(x, size, stride, padding, dilation=(1, 1, 1), value=0.0):
    n = len(size)
    x = np.pad(x, [(0, 0)] * (x.ndim - n) + [(p, p) for p in padding], constant_values=value)
    span = [d * (s - 1) + 1 for s, d in zip(size, dilation)]
    w = np.lib.stride_tricks.sliding_window_view(x, span, tuple(range(-n, 0)))
    return w[(..., *[slice(None, None, s) for s in stride], *[slice(None, None, d) for _, d in zip(size, dilation)])]
def convolved(x, w, b, stride, padding, dilation, groups):
    n = len(stride)
    seen = windows(x, w.shape[2:], stride, padding, dilation)
    parts = [np.tensordot(s, v, ([1, *range(2 + n, 2 + 2 * n)], [1, *range(2, 2 + n)]))
             for s, v in zip(np.split(seen, groups, 1), np.split(w, groups, 0))]
    return np.moveaxis(np.concatenate(parts, -1), -1, 1) + beside_channels(b, x)
def transposed(x, w, b, stride, padding, dilation, groups):
    n, out = len(stride), []
    for xs, ws in zip(np.split(x, groups, 1), np.split(w, groups, 0)):
        y = np.zeros([x.shape[0], w.shape[1]] + [(s - 1) * t + d * (k - 1) + 1 for s, t, d, k in zip(x.shape[2:], stride, dilation, w.shape[2:])])
        for i in np.ndindex(*x.shape[2:]):
            for k in np.ndindex(*w.shape[2:]):
                y[(slice(None), slice(None), *[a * s + c * d for a, s, c, d in zip(i, stride, k, dilation)])] += xs[(slice(None), slice(None), *i)] @ ws[(slice(None), slice(None), *k)]
        out.append(y)
    y = np.concatenate(out, 1)
    return y[(slice(None), slice(None), *[slice(p, s - p) for p, s in zip(padding, y.shape[2:])])] + beside_channels(b, y)
def pooled(f, value=0.0): return lambda x, size, stride, padding, **k: f(windows(x, size, stride, padding, k.pop("dilation", (1, 1, 1)), value), axis=tuple(range(-len(size), 0)), **k)
def adaptive(f):
    def result(x, size):
        for axis, out in zip(range(-len(size), 0), size):
            n = x.shape[axis]
            x = np.stack([np.moveaxis(x, axis, 0)[i * n // out:-(-(i + 1) * n // out)] .mean(0) if f == "mean" else
                          np.moveaxis(x, axis, 0)[i * n // out:-(-(i + 1) * n // out)].max(0) for i in range(out)], 0)
            x = np.moveaxis(x, 0, axis)
        return x
    return result
def scatter(x, index, updates, axis, reduce):
    x = x.copy()
    for at in np.ndindex(*index.shape):
        to = list(at)
        to[axis] = index[at]
        x[tuple(to)] = {"none": lambda a, b: b, "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "max": max, "min": min}[reduce](x[tuple(to)], updates[at])
    return x
def segment(f, none):
    def result(x, index, segments):
        y = np.full((segments,) + x.shape[1:], none, x.dtype)
        getattr(f, "at")(y, index, x)
        return y
    return result
def nll(x, target, weight=None, ignore_index=-100, reduction="none"):
    if target.dtype.kind == "f":
        y = -(x * target * (1 if weight is None else weight.reshape(-1, *[1] * (x.ndim - 2)))).sum(1)
        return {"none": y, "mean": y.sum() / y.size if y.size else np.nan, "sum": y.sum()}[reduction]
    at = np.take_along_axis(x, np.expand_dims(target, 1), 1).squeeze(1)
    y = np.where(target == ignore_index, 0, -at * (1 if weight is None else weight[target]))
    return y.sum() if reduction == "sum" else y
def lstm(x, h, c, w_ih, w_hh, b_ih, b_hh):
    i, f, g, o = np.split(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh, 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c
def gru(x, h, w_ih, w_hh, b_ih, b_hh):
    (r, z, n), (hr, hz, hn) = np.split(x @ w_ih.T + b_ih, 3, -1), np.split(h @ w_hh.T + b_hh, 3, -1)
    r, z = sigmoid(r + hr), sigmoid(z + hz)
    return (1 - z) * np.tanh(n + r * hn) + z * h
def rnn(x, h, w_ih, w_hh, b_ih, b_hh): return np.tanh(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh)
def attention(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    return softmax(scores if mask is None else np.where(mask, scores, -np.inf)) @ v
def as_complex(x): return x[..., 0] + 1j * x[..., 1]
def as_pairs(z): return np.stack([z.real, z.imag], -1)
def shuffled(x, block, mode, inverse=False):
    *lead, c, h, w = x.shape
    n, b = len(lead), block
    if inverse:
        y = np.moveaxis(x.reshape(*lead, c, h // b, b, w // b, b), [n + 2, n + 4], [n + 1, n + 2] if mode == "crd" else [n, n + 1])
        return y.reshape(*lead, c * b * b, h // b, w // b)
    y = x.reshape(*lead, c // b // b, b, b, h, w) if mode == "crd" else np.moveaxis(x.reshape(*lead, b, b, c // b // b, h, w), n + 2, n)
    return np.moveaxis(y, [n + 1, n + 2], [n + 2, n + 4]).reshape(*lead, c // b // b, h * b, w * b)
def slice_at(x, start, size): return tuple(slice(b, b + n) for b, n in zip(np.clip(start, 0, np.subtract(x.shape, size)), size))
def updated(x, updates, start):
    y = x.copy()
    y[slice_at(x, start, updates.shape)] = updates
    return y
def last_of_ties(x, axis, largest):
    """Positions of running maxima: the last of equal ones and of NaN."""
    rows = np.moveaxis(x if largest else -x, axis, -1)
    out = np.zeros(rows.shape, np.int64)
    for at in np.ndindex(*rows.shape[:-1]):
        best = 0
        for i, v in enumerate(rows[at]):
            b = rows[at][best]
            best = i if math.isnan(v) or (not math.isnan(b) and v >= b) else best
            out[at + (i,)] = best
    return np.moveaxis(out, -1, axis)
def strided(d):
    shape, strides = [d.int(0, 3), d.int(1, 3)], [d.int(0, 3), d.int(0, 2)]
    return {"x": d.floats(2, 8), "shape": shape, "strides": strides, "offset": d.int(0, 5)}
def ggml(count):
    def draw(d):
        rows, n = d.int(0, 3), d.int(1, 3)
        scales = np.ascontiguousarray(d.floats(rows, n, 1, special=False).astype(np.float16)).view(np.uint8)
        return {"q": np.concatenate([scales, d.ints(0, 255, rows, n, count, dtype=np.uint8)], -1).reshape(rows, n * (2 + count))}
    return draw
def unpacked(q, numbers):
    size = 34 if numbers(np.zeros(32, np.uint8)).size == 32 else 18
    b = np.ascontiguousarray(q).reshape(*q.shape[:-1], q.shape[-1] // size, size)
    return (np.ascontiguousarray(b[..., :2]).view(np.float16).astype(F) * numbers(b[..., 2:]).astype(F)).reshape(*q.shape[:-1], q.shape[-1] // size * 32)
def the_maximum(w):  # of a window: the first; of NaN the last
    w = w.reshape(-1)
    return int(np.flatnonzero(np.isnan(w))[-1]) if np.isnan(w).any() else int(w.argmax())
def selected(x, gradient, size, stride):
    out = np.zeros(x.shape)
    for i, j in np.ndindex(*gradient.shape):
        at = the_maximum(x[2 * i:2 * i + 2, 2 * j:2 * j + 2])
        out[2 * i + at // 2, 2 * j + at % 2] += gradient[i, j]
    return out
def folded(x, output_size, size):
    out = np.zeros((2, 2, 4, 5))
    for k, (i, j) in enumerate(np.ndindex(3, 4)):
        out[:, :, i:i + 2, j:j + 2] += x[:, :, k].reshape(2, 2, 2, 2)
    return out
def boxes(d):
    n = d.int(0, 3)
    corners = d.rng.uniform(0, 3, (n, 2)).astype(F)
    return {"x": d.floats(2, 2, 4, 5, special=False), "rois": np.concatenate([corners, corners + d.rng.uniform(0.5, 3, (n, 2)).astype(F)], 1),
            "batch": d.ints(0, 1, n), "size": [2, 3], "scale": 0.5, "sampling_ratio": 2, "aligned": d.int(0, 1)}
def aligned(x, rois, batch, size, scale, sampling_ratio, aligned):
    def weights(low, high, bins, n):  # (bins, n)
        low, high = (v * scale - 0.5 * aligned for v in (low, high))
        step = (high - low if aligned else max(high - low, 1)) / bins
        out = np.zeros((bins, n))
        for b in range(bins):
            for at in (low + (b + (k + 0.5) / 2) * step for k in range(2)):
                if -1 <= at <= n:
                    out[b] += np.maximum(1 - abs(min(max(at, 0), n - 1) - np.arange(n)), 0) / 2
        return out
    out = [weights(y0, y1, 2, 4) @ x[b] @ weights(x0, x1, 3, 5).T for b, (x0, y0, x1, y1) in zip(batch, rois.astype(float))]
    return np.array(out).reshape(len(rois), 2, 2, 3)
def first_maxima(x, size, stride, padding, dilation=(1, 1, 1), **k):
    axes, plane = len(size), x.shape[x.ndim - len(size):]
    of = np.broadcast_to(np.arange(math.prod(plane)).reshape(plane), x.shape).astype(float)
    w, at = (windows(v, size, stride, padding, dilation, -np.inf, **k) for v in (x, of))
    flat = [v.reshape(*v.shape[:-axes], -1) for v in (w, at)]
    out = np.zeros(flat[0].shape[:-1], np.int64)
    for i in np.ndindex(*out.shape):
        places = [j for j in range(flat[1].shape[-1]) if np.isfinite(flat[1][i][j])]
        out[i] = flat[1][i][places[the_maximum(flat[0][i][places])]]
    return out
def interpolated(x, size, mode, align_corners):
    for axis, out in zip((2, 3), size):
        n = x.shape[axis]
        if mode.startswith("nearest"):
            x = np.take(x, [min((i * n // out) if mode == "nearest" else (2 * i + 1) * n // (2 * out), n - 1) for i in range(out)], axis)
            continue
        at = [i * (n - 1) / max(out - 1, 1) if align_corners else (i + 0.5) * n / out - 0.5 for i in range(out)]
        at = np.maximum(at, 0) if mode == "bilinear" else np.array(at)
        taps = np.floor(at)[:, None] + np.arange(-2, 4)
        d = abs(at[:, None] - taps)
        weight = np.maximum(1 - d, 0) if mode == "bilinear" else np.where(d < 1, (1.25 * d - 2.25) * d * d + 1, np.where(d < 2, ((-0.75 * d + 3.75) * d - 6) * d + 3, 0))
        x = np.moveaxis((np.take(x, np.clip(taps, 0, n - 1).astype(int), axis) * weight.reshape(out, 6, *[1] * (3 - axis))).sum(axis + 1), axis, axis)
    return x
def quantize(x, scale, zero_point): return np.clip(np.rint(x / scale) + zero_point, -128, 127).astype(np.int8)
def bce(x, target): return -(target * np.maximum(np.log(x), -100) + (1 - target) * np.maximum(np.log1p(-x), -100))
def bits(x): return np.unpackbits(x.view(np.uint8).reshape(x.shape + (x.itemsize,)), axis=-1)
def smooth(x, target, beta=1.0): return np.where(abs(x - target) < beta, (x - target) ** 2 / (2 * beta), abs(x - target) - beta / 2)
def argextreme(f): return lambda x, axis, keep: f(x, axis[0] if len(axis) == 1 else None, keepdims=bool(keep)).astype(np.int64)
def top_nan(x, k, axis, largest):
    """NaN is the largest; of ties the first."""
    order = np.argsort(np.where(np.isnan(x), -np.inf, -x) if largest else x, axis, kind="stable")
    if largest:  # -inf of NaN comes before that of inf
        order = np.take_along_axis(order, np.argsort(~np.isnan(np.take_along_axis(x, order, axis)), axis, kind="stable"), axis)
    return np.take(order, range(k), axis).astype(np.int64)
def cropped(x, size):
    for axis, out in enumerate(size):
        n = x.shape[axis]
        both = min(n, out)
        x = np.take(x, range((n - both) // 2, (n - both) // 2 + both), axis)
        x = np.pad(x, [((out - both) // 2, out - both - (out - both) // 2) if a == axis else (0, 0) for a in (0, 1)])
    return x
def taken(x, index, axis):
    return np.take_along_axis(x[tuple(slice(None) if a == axis % x.ndim else slice(s) for a, s in enumerate(index.shape))], index, axis)
def added(x, index, updates):
    y = x.copy()
    np.add.at(y, index, updates)
    return y
def mish(x): return x * np.tanh(softplus(x))
def halves(x, axis): return np.split(x, 2, axis)
def roped(x, cos, sin, interleaved=0):
    a, b = np.split(x, 2, -1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


UNARY = {  # a function of float64 numbers, rounded once
    **{n: getattr(np, n) for n in "exp2 log2 sin sqrt exp expm1 log log10 log1p tanh cos tan sinh cosh cbrt floor ceil trunc square".split()},
    **{n: getattr(np, "arc" + n[1:]) for n in "asin acos atan asinh acosh atanh".split()}, "recip": lambda x: 1 / x, "neg": np.negative, "abs": np.abs,
    "relu": lambda x: np.maximum(x, 0), "sigmoid": sigmoid, "silu": lambda x: x * sigmoid(x), "softplus": softplus, "round": np.rint, "erf": each(math.erf), "erfc": each(math.erfc),
    "lgamma": each(math.lgamma), "rsqrt": lambda x: 1 / np.sqrt(x), "gelu": lambda x: x * each(math.erfc)(-x / math.sqrt(2)) / 2, "mish": mish, "softsign": lambda x: x / (1 + abs(x)),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), "logsigmoid": lambda x: -softplus(-x), "sign": np.sign,
    "relu6": lambda x: np.clip(x, 0, 6), "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6, "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6, "frac": lambda x: x - np.trunc(x),
    "selu": lambda x: float(F(1.0507009873554805)) * np.where(x > 0, x, float(F(1.6732632423543772)) * np.expm1(x)), "quick_gelu": lambda x: x * sigmoid(1.702 * x),
    "round_half_away": lambda x: np.where(abs(x) < 2**52, np.copysign(np.floor(abs(x) + 0.5), x), x), "tanhshrink": lambda x: x - np.tanh(x), "logit": lambda x: np.log(x / (1 - x)),
}
NUMPY = {  # name: (how its arguments are drawn, the function)
    **{n: (finite if n in ("tanhshrink", "logit", "gelu_tanh", "lgamma") else one, rounded(f)) for n, f in UNARY.items()},
    **{n: (one, getattr(np, n)) for n in "isnan isinf isfinite signbit".split()},
    **{n: (two, f) for n, f in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "mod": np.fmod, "maximum": np.maximum, "minimum": np.minimum,
                                "cmplt": np.less, "cmpeq": np.equal, "copysign": np.copysign, "next_after": np.nextafter, "heaviside": np.heaviside}.items()},
    **{n: (two, rounded(f)) for n, f in {"atan2": np.arctan2, "pow": np.power, "hypot": np.hypot, "remainder": np.remainder, "logaddexp": np.logaddexp,
                                         "xlogy": lambda x, y: np.where(np.isnan(y), y, np.where(x == 0, 0, x * np.log(y)))}.items()},
    "floor_div": (two, np.floor_divide),
    **{n: (two_integers, f) for n, f in {"bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "xor": np.bitwise_xor, "shift_left": lambda x, y: np.where((y < 0) | (y > 31), 0, np.left_shift(x, y & 31)).astype(np.int32),
                                         "shift_right": lambda x, y: np.right_shift(x, np.where((y < 0) | (y > 31), 31, y)).astype(np.int32),
                                         "shift_right_logical": lambda x, y: np.where((y < 0) | (y > 31), 0, (x.view(np.uint32) if x.flags.c_contiguous else np.ascontiguousarray(x).view(np.uint32).reshape(x.shape)) >> (y & 31).astype(np.uint32)).astype(np.uint32).view(np.int32)}.items()},
    "bit_not": (with_integers, np.bitwise_not), "popcount": (with_integers, lambda x: bits(np.ascontiguousarray(x)).sum(-1).astype(np.int8)),
    "clz": (with_integers, lambda x: np.where((x == 0), 8, np.argmax(bits(np.ascontiguousarray(x)), -1)).astype(np.int8)),
    "mulacc": (lambda d: {**{n: d.floats(3, 2, special=False) for n in "xyz"}}, lambda x, y, z: x * y + z),
    "where": (lambda d: {"condition": d.bools(3, 1), "x": d.floats(3, 4), "y": d.floats(4)}, np.where), "cast": (lambda d: {**finite(d), "to": "i32"}, lambda x, to: np.trunc(x).astype(np.int32)),
    "bitcast": (lambda d: {**one(d), "to": "i32"}, lambda x, to: np.ascontiguousarray(x).view(np.int32).reshape(x.shape)),

    "sum": (lambda d: over_axes(d, special=False), rounded(reduced_over(np.sum))), "max": (lambda d: filled_axes(d), reduced_over(np.max)), "min": (lambda d: filled_axes(d), reduced_over(np.min)),
    "mean": (lambda d: filled_axes(d), rounded(reduced_over(np.mean))), "var": (lambda d: filled_axes(d, special=False), rounded(reduced_over(np.var))), "std": (lambda d: filled_axes(d, special=False), rounded(reduced_over(np.std))),
    "any": (over_axes, reduced_over(lambda x, **k: (x != 0).any(**k))), "all": (over_axes, reduced_over(lambda x, **k: (x != 0).all(**k))),
    "count_nonzero": (over_axes, lambda x, axis, keep: np.count_nonzero(x, axis=tuple(axis), keepdims=bool(keep))), "prod": (lambda d: over_axes(d, special=False), rounded(reduced_over(np.prod))),
    "l1_norm": (lambda d: over_axes(d, special=False), rounded(reduced_over(lambda x, **k: abs(x).sum(**k)))), "l2_norm": (lambda d: over_axes(d, special=False), rounded(reduced_over(lambda x, **k: np.sqrt((x * x).sum(**k))))),
    "logsumexp": (filled, rounded(lambda x, axis: np.logaddexp.reduce(x, axis))), "cumsum": (along, rounded(np.cumsum)), "cumprod": (lambda d: {**along(d), "x": d.floats(3, 4, special=False), "axis": d.int(-2, 1)}, rounded(np.cumprod)),
    "cummax": (along, lambda x, axis: np.maximum.accumulate(x, axis)), "cummin": (along, lambda x, axis: np.minimum.accumulate(x, axis)),
    "cummax_index": (along, lambda x, axis: last_of_ties(x, axis, True)), "cummin_index": (along, lambda x, axis: last_of_ties(x, axis, False)),
    "argmax": (lambda d: filled_axes(d), argextreme(np.argmax)), "argmin": (lambda d: filled_axes(d), argextreme(np.argmin)), "sort": (along, lambda x, axis: np.sort(x, axis, kind="stable")),
    "argsort": (along, lambda x, axis: np.argsort(x, axis, kind="stable")),
    "top_k": (lambda d: {**filled(d), "k": 1, "largest": d.int(0, 1)}, lambda x, k, axis, largest: np.take_along_axis(x, top_nan(x, k, axis, largest), axis)),
    "top_k_index": (lambda d: {**filled(d), "k": 1, "largest": d.int(0, 1)}, lambda x, k, axis, largest: top_nan(x, k, axis, largest)),
    "hardmax": (filled, lambda x, axis: (np.argmax(x, axis, keepdims=True) == np.arange(x.shape[axis]).reshape([-1] + [1] * (x.ndim - 1 - axis % x.ndim))).astype(F)),
    "searchsorted": (lambda d: {"sorted": np.sort(d.floats(d.int(0, 6))), "x": d.floats(*d.shape()), "right": d.int(0, 1)}, lambda sorted, x, right: np.searchsorted(sorted, x, "right" if right else "left").astype(np.int64)),
    "diff": (along, lambda x, axis: np.diff(x, axis=axis)),

    "softmax": (filled, rounded(softmax)), "softmin": (filled, rounded(lambda x, axis: softmax(-x, axis))), "log_softmax": (filled, rounded(log_softmax)),
    "masked_softmax": (lambda d: {"x": d.floats(3, 4, special=False), "mask": d.bools(3, 4), "axis": -1}, rounded(lambda x, mask, axis: softmax(np.where(mask, x, -np.inf)))),
    "layer_norm": (last_norm("w", "b"), rounded(lambda x, w, b: scaled(x, -1, w, b))), "rms_norm": (last_norm("w"), rounded(lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w)),
    "group_norm": (norm(groups=2), rounded(grouped)), "instance_norm": (norm(), rounded(lambda x, w=None, b=None: grouped(x, 4, w, b))),
    "batch_norm": (lambda d: {"x": d.floats(3, 4, 2, special=False), "mean": d.floats(4, special=False), "var": abs(d.floats(4, special=False)) + F(0.5)},
                   rounded(lambda x, mean, var: (x - beside_channels(mean, x)) / np.sqrt(beside_channels(var, x) + 1e-5))),
    "normalize": (lambda d: {**filled(d), "x": d.floats(3, 4, special=False), "axis": d.int(0, 1)}, rounded(lambda x, axis: x / np.maximum(np.sqrt((x * x).sum(axis, keepdims=True)), 1e-12))),
    "mean_variance_normalization": (lambda d: {"x": d.floats(3, 4, 3, special=False), "axis": [0, 2]}, rounded(lambda x, axis: (x - x.mean((0, 2), keepdims=True)) / (x.std((0, 2), keepdims=True) + 1e-9))),

    "matmul": (matrices, np.matmul), "linear": (lambda d: {"x": d.floats(*d.shape(0, 2), 3), "w": d.floats(4, 3), "b": d.floats(4)}, rounded(lambda x, w, b: x @ w.T + b)),
    "attention": (attended, rounded(attention)), "attention_scores": (lambda d: {n: v for n, v in attended(d).items() if n in "qk"}, rounded(lambda q, k: q @ np.swapaxes(k, -1, -2) * float(F(1 / math.sqrt(q.shape[-1]))))),
    **{f"conv{n}d": (conv(n), rounded(convolved)) for n in (1, 2, 3)}, **{f"conv_transpose{n}d": (conv(n, True), rounded(transposed)) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": (pool(n), rounded(pooled(np.mean))) for n in (1, 2, 3)}, **{f"max_pool{n}d": (pool(n), pooled(np.max, -np.inf)) for n in (1, 2, 3)},
    **{f"adaptive_{k}_pool{n}d": (lambda d, n=n: {"x": d.floats(2, *[d.int(1, 6) for _ in range(n)], special=False), "size": [d.int(1, 4) for _ in range(n)]}, rounded(adaptive({"avg": "mean"}.get(k, "max"))))
       for n in (1, 2) for k in ("avg", "max")},
    **{f"lp_pool{n}d": (pool(n, p=[1, 2, 3]), rounded(lambda x, size, stride, padding, p: (abs(windows(x, size, stride, padding)) ** p).sum(tuple(range(-len(size), 0))) ** (1 / p))) for n in (1, 2)},
    "interpolate": (resized, rounded(interpolated)),
    "windows": (lambda d: {"x": d.floats(3, 6), "size": [3], "stride": [2], "dilation": [d.int(1, 2)]}, lambda x, size, stride, dilation: windows(x, size, stride, [0], dilation)),
    "unfold": (lambda d: {"x": d.floats(1, 2, 4, 5), "size": [2, 3], "padding": [d.int(0, 1)] * 2, "stride": [d.int(1, 2)] * 2}, lambda x, size, padding, stride: np.moveaxis(windows(x, size, stride, padding), [4, 5], [2, 3]).reshape(1, 12, -1)),

    "reshape": (lambda d: {"x": d.floats(4, 6), "shape": [3, -1]}, lambda x, shape: x.reshape(shape)), "permute": (lambda d: {"x": d.floats(2, 3, 4), "order": [2, 0, 1]}, lambda x, order: x.transpose(order)),
    "transpose": (lambda d: {"x": d.floats(*d.shape(2)), "a": d.int(0, 1), "b": -1}, lambda x, a, b: np.swapaxes(x, a, b)), "expand": (lambda d: {"x": d.floats(3, 1), "shape": [2, 3, d.int(0, 4)]}, lambda x, shape: np.broadcast_to(x, shape)),
    "pad": (padded, lambda x, before, after, mode: np.pad(x, list(zip(before, after)), mode=mode)), "slice": (lambda d: {"x": d.floats(5, 6), "begin": [1, 2], "end": [d.int(1, 5), 5]}, lambda x, begin, end: x[begin[0]:end[0], 2:5]),
    "stride": (lambda d: {"x": d.floats(5, 6), "steps": [d.pick(-2, 1, 3), 2]}, lambda x, steps: x[::steps[0], ::2]), "flip": (lambda d: {k: v for k, v in over_axes(d).items() if k != "keep"}, lambda x, axis: np.flip(x, axis)),
    "roll": (lambda d: {**along(d), "shift": d.int(-7, 7)}, lambda x, axis, shift: np.roll(x, shift, axis)), "repeat": (lambda d: {**along(d), "times": d.int(0, 3)}, lambda x, axis, times: np.repeat(x, times, axis)),
    "concat": (lambda d: {"x": d.floats(2, 3), "y": d.floats(d.int(0, 3), 3), "axis": 0}, lambda x, y, axis: np.concatenate([x, y])), "tile": (lambda d: {"x": d.floats(*d.shape(1, 3)), "times": [d.int(0, 3) for _ in range(d.int(1, 3))]}, lambda x, times: np.tile(x, times)),
    "diagonal": (lambda d: {"x": d.floats(d.int(1, 4), d.int(1, 4))}, np.diagonal), "trace": (lambda d: {"x": d.floats(d.int(1, 4), d.int(1, 4), special=False)}, rounded(np.trace)),
    "tril": (lambda d: {"x": d.floats(*d.shape(2)), "diagonal": d.int(-3, 3)}, lambda x, diagonal: np.tril(x, diagonal)), "triu": (lambda d: {"x": d.floats(*d.shape(2)), "diagonal": d.int(-3, 3)}, lambda x, diagonal: np.triu(x, diagonal)),
    "center_crop_pad": (lambda d: {"x": d.floats(d.int(1, 6), d.int(1, 6)), "size": [d.int(0, 8), d.int(0, 8)]}, lambda x, size: cropped(x, size)),
    "depth_to_space": (blocks, shuffled), "space_to_depth": (blocks, lambda **k: shuffled(**k, inverse=True)),
    "one_hot": (lambda d: {"index": d.ints(-1, 4, *d.shape()), "classes": 4}, lambda index, classes: (index[..., None] == np.arange(4)).astype(F)),
    "gather": (lambda d: {"table": d.floats(5, 3), "index": d.ints(0, 4, *d.shape(0, 2))}, lambda table, index: table[index]), "take_along": (indexed, lambda x, index, axis: taken(x, index, axis)),
    "index_select": (lambda d: {**filled(d), "x": d.floats(4, 3), "index": d.ints(-3, 2, *d.shape(0, 2)), "axis": d.int(0, 1)}, lambda x, index, axis: np.take(x, index, axis)),
    "gather_nd": (nd, lambda x, index: x[tuple(np.moveaxis(index, -1, 0))]), "dynamic_slice": (moved_to_fit, lambda x, start, size: x[slice_at(x, start, size)]),
    "dynamic_update_slice": (lambda d: moved_to_fit(d, True), updated),
    "reverse_sequence": (lambda d: {"x": d.floats(5, 3, *d.shape(0, 1)), "lengths": d.ints(0, 5, 3), "time_axis": 0, "batch_axis": 1}, lambda x, lengths, **k: np.stack([np.concatenate([x[:n, b][::-1], x[n:, b]]) for b, n in enumerate(lengths)], 1)),
    "scatter": (scattered("none", "add", "max", "min", "mul"), rounded(scatter)),
    "scatter_nd": (lambda d: {**nd(d), "x": d.floats(5, 2, special=False), "index": d.ints(0, 4, 3, 1), "updates": d.floats(3, 2, special=False), "reduce": "add"},
                   rounded(lambda x, index, updates, reduce: added(x, index[:, 0], updates))),
    "index_add": (lambda d: {"x": d.floats(5, 2, special=False), "index": d.ints(0, 4, 4), "updates": d.floats(4, 2, special=False), "axis": 0}, rounded(lambda x, index, updates, axis: added(x, index, updates))),
    "segment_sum": (segments, rounded(segment(np.add, 0))), "segment_max": (segments, rounded(segment(np.maximum, -np.inf))), "segment_min": (segments, rounded(segment(np.minimum, np.inf))), "segment_prod": (segments, rounded(segment(np.multiply, 1))),
    "embedding_bag": (lambda d: {"table": d.floats(5, 3, special=False), "index": d.ints(0, 4, 4, d.int(1, 3)), "mode": d.pick("sum", "mean", "max")}, rounded(lambda table, index, mode: getattr(np, mode)(table[index], axis=1))),
    "quantize": (quantized, rounded(quantize, np.int8)), "dequantize": (lambda d: {**quantized(d), "x": d.ints(-9, 9, 2, 3, dtype=np.int8), "scale": d.floats(3, special=False), "zero_point": d.ints(-3, 3, 3, dtype=np.int8)},
                                                                       lambda x, scale, zero_point: (x.astype(F) - zero_point.astype(F)) * scale),
    "fake_quantize": (quantized, rounded(lambda x, scale, zero_point: (quantize(x, scale, zero_point) - zero_point.astype(float)) * scale)),

    "lerp": (lambda d: {"x": d.floats(3, 4, special=False), "y": d.floats(4, special=False), "weight": d.floats(3, 1, special=False)}, lambda x, y, weight: np.where(abs(weight) < 0.5, x + weight * (y - x), y - (y - x) * (1 - weight))),
    "nan_to_num": (lambda d: {**one(d), "nan": 2, "posinf": 5, "neginf": -7}, lambda x, **k: np.nan_to_num(x, **k)), "hardshrink": (with_number(lambd=[0.5, 1]), lambda x, lambd: np.where((x >= -lambd) & (x <= lambd), F(0), x)),
    "softshrink": (with_number(lambd=[0.5, 1]), lambda x, lambd: np.where(np.isnan(x), x, np.sign(x) * np.maximum(abs(x) - F(lambd), F(0)))), "shrink": (with_number(lambd=[1], bias=[0.5]), lambda x, lambd, bias: np.where(x < -1, x + F(0.5), np.where(x > 1, x - F(0.5), F(0)))),
    "thresholded_relu": (with_number(alpha=[1, 0.5]), lambda x, alpha: np.where(x > alpha, x, F(0))), "threshold": (lambda d: {**one(d), "threshold": 0.5, "value": 7}, lambda x, threshold, value: np.where(x <= threshold, F(value), x)),
    "leaky_relu": (with_number(slope=[0.25, 0.01]), rounded(lambda x, slope: np.where(x > 0, x, x * float(F(slope))))), "elu": (with_number(alpha=[1, 0.5]), rounded(lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(x)))),
    "celu": (with_number(alpha=[1, 0.5]), rounded(lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(x / alpha)))), "clamp": (lambda d: {**one(d), "low": -1, "high": d.pick(0.5, -2)}, lambda x, low, high: np.minimum(np.maximum(x, F(low)), F(high))),
    "hardtanh": (one, rounded(lambda x: np.clip(x, -1, 1))), "prelu": (lambda d: {"x": d.floats(2, 3, 4), "slope": d.floats(3, special=False)}, rounded(lambda x, slope: np.where(x > 0, x, x * slope[:, None]))),
    "glu": (lambda d: {"x": d.floats(3, 4, special=False), "axis": 1}, rounded(lambda x, axis: halves(x, 1)[0] * sigmoid(halves(x, 1)[1]))), "swiglu": (lambda d: {"x": d.floats(3, 4, special=False), "axis": 1}, rounded(lambda x, axis: halves(x, 1)[0] * sigmoid(halves(x, 1)[0]) * halves(x, 1)[1])),
    "geglu": (lambda d: {"x": d.floats(3, 4, special=False), "axis": 1}, rounded(lambda x, axis: UNARY["gelu"](halves(x, 1)[0]) * halves(x, 1)[1])), "dropout": (lambda d: {"x": d.floats(3, 4), "kept": d.bools(3, 4), "p": 0.5}, lambda x, kept, p: np.where(kept, x * 2, F(0))),

    "cross_entropy": (classes(True), rounded(lambda x, **k: nll(log_softmax(x, 1), **k))), "nll_loss": (classes(), rounded(nll)), "mse_loss": (loss(), rounded(reduction(lambda x, t: (x - t) ** 2))), "l1_loss": (loss(), rounded(reduction(lambda x, t: abs(x - t)))),
    "smooth_l1_loss": (loss(), rounded(reduction(smooth))), "huber_loss": (loss(), rounded(reduction(smooth))), "binary_cross_entropy": (loss(True), rounded(reduction(bce))),
    "binary_cross_entropy_with_logits": (loss(), rounded(reduction(lambda x, t: (1 - t) * x + softplus(-x)))), "kl_div": (loss(True), rounded(reduction(lambda x, t: t * (np.log(t) - x)))),
    "hinge_embedding_loss": (ranked("x", margin=1.5), rounded(reduction(lambda x, t, margin: np.where(t == 1, x, np.maximum(margin - x, 0))))), "soft_margin_loss": (ranked("x"), rounded(reduction(lambda x, t: softplus(-t * x)))),
    "margin_ranking_loss": (ranked("x", "y", margin=0.5), rounded(reduction(lambda x, t, y, margin: np.maximum(margin - t * (x - y), 0)))), "poisson_nll_loss": (lambda d: {**loss()(d), "full": 1}, rounded(reduction(lambda x, t, full: np.exp(x) - t * x + stirling(t)))),
    "gaussian_nll_loss": (gaussian, rounded(reduction(lambda x, t, var, full, eps=0: (var := of_rows(var, x)) is None or (np.log(var) + (x - t) ** 2 / var + np.log(2 * np.pi)) / 2))),
    "triplet_margin_loss": (rows_of("x", "positive", "negative"), rounded(lambda x, positive, negative, reduction: {"none": lambda v: v, "mean": np.mean, "sum": np.sum}[reduction](np.maximum(1 + apart(x, positive) - apart(x, negative), 0)))),
    "cosine_embedding_loss": (rows_of("x", "y", target="sign", margin=0.25), rounded(reduction(lambda x, t, y, margin: np.where(t == 1, 1 - cosine(x, y, eps=1e-12), np.maximum(cosine(x, y, eps=1e-12) - margin, 0))))),
    "multilabel_soft_margin_loss": (rows_of("x", target="share"), rounded(reduction(lambda x, t: (t * softplus(-x) + (1 - t) * softplus(x)).mean(-1)))), "multi_margin_loss": (rows_of("x", target="label", special=True, p=2, margin=0.75), rounded(reduction(margins))),
    "cosine_similarity": (rows_of("x", "y"), rounded(lambda x, y: cosine(x, y, 1))), "pairwise_distance": (rows_of("x", "y"), rounded(apart)),
    "local_response_norm": (lambda d: {"x": d.floats(2, d.int(1, 6), 3, special=False), "size": d.int(1, 5), "alpha": 0.5, "beta": 0.75, "k": 2}, rounded(response_norm)),
    "rnn_cell": (cell(1), rounded(rnn)), "gru_cell": (cell(3), rounded(gru)), "lstm_cell": (cell(4), rounded(lambda **k: lstm(**k)[0])), "lstm_cell_c": (cell(4), rounded(lambda **k: lstm(**k)[1])),
    "rope": (lambda d: {"x": d.floats(2, 3, 6, special=False), "cos": d.floats(3, 3, special=False), "sin": d.floats(3, 3, special=False)}, rounded(roped)),
    "as_strided": (strided, lambda x, shape, strides, offset: np.array([x.reshape(-1)[offset + np.dot(at, strides)] for at in np.ndindex(*shape)], F).reshape(shape)),
    "arange": (lambda d: {"size": d.int(0, 9), "dtype": d.pick("i32", "f32", "u8")}, lambda size, dtype: np.arange(size, dtype={v: k for k, v in TYPES.items()}[dtype])),
    "dequantize_q8_0": (ggml(32), lambda q: unpacked(q, lambda b: b.view(np.int8))), "dequantize_q4_0": (ggml(16), lambda q: unpacked(q, lambda b: np.concatenate([b & 15, b >> 4], -1).astype(F) - 8)),
    "select_and_scatter": (lambda d: {"x": d.floats(5, 6), "gradient": d.floats(2, 3, special=False), "size": [2, 2], "stride": 2}, rounded(selected)),
    "fold": (lambda d: {"x": d.floats(2, 8, 12, special=False), "output_size": [4, 5], "size": [2, 2]}, rounded(folded)), "roi_align": (boxes, rounded(aligned)),
    **{f"max_pool{n}d_index": (pool(n), first_maxima) for n in (1, 2)},
    "complex_mul": (pairs("x", "y"), rounded(lambda x, y: as_pairs(as_complex(x) * as_complex(y)))), "complex_exp": (pairs("x"), rounded(lambda x: as_pairs(np.exp(as_complex(x))))), "complex_abs": (pairs("x"), rounded(lambda x: abs(as_complex(x)))),
    "complex_matmul": (lambda d: {"x": d.floats(3, 4, 2, special=False), "y": d.floats(4, 2, 2, special=False)}, rounded(lambda x, y: as_pairs(as_complex(x) @ as_complex(y)))),
    "dft": (pairs("x", least=1), rounded(lambda x: as_pairs(np.fft.fft(as_complex(x))))), "idft": (pairs("x", least=1), rounded(lambda x: as_pairs(np.fft.ifft(as_complex(x))))),
}

OF_BITS = {"next_after", "bitcast"}  # not numbers rounded from float64
# What NumPy has no function for in a few lines, and how it is drawn; PyTorch has.
WITHOUT = {
    "digamma": finite, "erfinv": lambda d: {"x": np.asarray(np.clip(d.floats(*d.shape(), special=False) / F(9), -1, 1), F)}, "grid_sample": gridded,
    "affine_grid": lambda d: {"theta": d.floats(2, 2, 3, special=False), "size": [d.int(1, 4), d.int(1, 4)], "align_corners": d.int(0, 1)},
}


def text(name, arguments, kind="float32"):
    """The call as a formula, and its arrays in order."""
    arrays = {n: v for n, v in arguments.items() if isinstance(v, np.ndarray)}
    types = {n: TYPES[kind if is_drawn(v) else v.dtype.name] for n, v in arrays.items()}
    sizes = {n: f"{n}=in{i}[{','.join(map(str, v.shape))}]:{types[n]}" for i, (n, v) in enumerate(arrays.items())}
    given = [v if not is_drawn(v) else bits_of(v) if kind == "bfloat16" else v.astype(kind) for v in arrays.values()]
    return f"{name}({', '.join(sizes.get(n, f'{n}={v}') for n, v in arguments.items())})", given


def judged(name, arguments, result, kind="float32"):
    """(formula, verdict) of a result."""
    formula, arrays = text(name, arguments, kind)
    made = kernel.Kernel.from_formula(formula)
    result = np.ascontiguousarray(result)
    if made.dtype.startswith(("float", "bfloat")):
        result = in_type(result, made.dtype)
    if made.dtype in ("bool", "bfloat16"):
        result = result.astype(bool) if made.dtype == "bool" else bits_of(result)
    return formula, kernel.check(made, arrays, result)


def drawn(draw, name, number, kind="float32"):
    """Arguments whose floats are numbers of a type, held in float32."""
    arguments = draw(Draw([number, sum(map(ord, name))]))
    return {n: in_type(v, kind).astype(F) if is_drawn(v) and kind != "float64" else v for n, v in arguments.items()}


def rights(name, number):
    """(arguments, result) of a drawn call; by the reference where NumPy has no function."""
    draw, function = NUMPY.get(name) or (WITHOUT[name], None)
    arguments = drawn(draw, name, number)
    if function:
        return arguments, np.ascontiguousarray(called(function, arguments))
    formula, arrays = text(name, arguments)
    return arguments, kernel.eval(kernel.Kernel.from_formula(formula), *map(np.ascontiguousarray, arrays))


def wrongs(result):
    """(fault, result) for each way to change one element: an integer by 1, a float by 8 ULP or more."""
    at = np.argmax(np.where(np.isfinite(result), abs(result), 0)) if result.dtype.kind == "f" else result.size // 2
    value = result.flat[at]
    if result.dtype.kind != "f":
        faults = {"1": not value if result.dtype == bool else value - 1 if value > 0 else value + 1}
    else:
        step = np.spacing(abs(value)) if np.isfinite(value) else np.nan
        faults = {"8 ULP": value + 8 * step, "512 ULP": value + 512 * step, "5 %": value * 1.05 + 0.05, "42": 42.0 if value != 42 else 43.0}
    for fault, other in faults.items():
        wrong = result.copy()
        wrong.flat[at] = other
        if result.dtype.kind != "f" or not np.isnan(other):
            yield fault, wrong


@np.errstate(all="ignore")
def power_of(name, draws=20):
    """The smallest fault of one element that is FAIL or SUSPECT where the right result is PASS; None: no such call drawn."""
    for number in range(draws):
        arguments, right = rights(name, number)
        formula = text(name, arguments)[0]
        if kernel.Kernel.from_formula(formula).dtype.startswith("float"):
            right = in_type(right, kernel.Kernel.from_formula(formula).dtype)
        if not np.isfinite(right).any() or judged(name, arguments, right)[1].status != "PASS":
            continue
        for fault, wrong in wrongs(right):
            if judged(name, arguments, wrong)[1].status in ("FAIL", "SUSPECT"):
                return fault
    return None


def compare(table, draws, only=None, kind="float32", statuses=None):
    """{name: [disagreements]} of all definitions in a table; counts verdicts in `statuses`."""
    found = collections.defaultdict(list)
    with np.errstate(all="ignore"):
        for name, (draw, function) in table.items():
            if only not in (None, name) or (kind != "float32" and name in OF_BITS):
                continue
            for i in range(draws):
                arguments = drawn(draw, name, i, kind)
                try:
                    formula, verdict = judged(name, arguments, called(function, arguments), kind)
                except Exception as error:
                    formula, verdict = text(name, arguments)[0], error
                status = getattr(verdict, "status", "error")
                if statuses is not None:
                    statuses[status] += 1
                if status not in ("PASS", "WEAK", "SUSPECT"):
                    found[name].append(f"{formula}: {verdict!s}")
    return found


ELEMENTWISE = ("exp2 log2 sin sqrt exp expm1 log log10 log1p rsqrt sigmoid silu tanh erf erfc gelu softplus cos tan asin acos atan atan2 sinh cosh asinh acosh atanh pow cbrt hypot "
               "lgamma digamma erfinv floor ceil round trunc sign floor_div remainder selu elu mish softsign logsigmoid hardswish tanhshrink logit gelu_tanh").split()
UFUNCS = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "pow": "power", "round": "rint", "floor_div": "floor_divide"}


def in_own_type(source, name, kind):
    """A library's function on numbers of the type; None: it has none."""
    if source == "numpy":
        function = getattr(np, UFUNCS.get(name, name), None)
        if not isinstance(function, np.ufunc) or kind == "bfloat16":
            return None
        return lambda **k: np.asarray(called(function, {n: v.astype(kind) if is_drawn(v) else v for n, v in k.items()}))
    import torch
    from beside_torch import FUNCTIONS, tensor

    def result(**k):
        given = {n: tensor(v).to(getattr(torch, kind)) if is_drawn(v) else tensor(v) for n, v in k.items()}
        return called(FUNCTIONS[name], given).to(torch.float64 if kind == "float64" else torch.float32).numpy()
    return result if name in FUNCTIONS else None


def named(source="numpy", draws="100", kind="float32"):
    """{function: [PASS, WEAK, others, the first other]}; what a library refuses is left out."""
    table = {}
    with np.errstate(all="ignore"):
        for name in ELEMENTWISE:
            function, draw = in_own_type(source, name, kind), NUMPY[name][0] if name in NUMPY else WITHOUT[name]
            for i in range(int(draws)) if function else ():
                arguments = drawn(draw, name, i, kind)
                try:
                    result = function(**arguments)
                except RuntimeError:  # "not implemented for 'Half'"
                    break
                formula, verdict = judged(name, arguments, result, kind)
                row = table.setdefault(name, [0, 0, 0, ""])
                which = {"PASS": 0, "WEAK": 1}.get(verdict.status, 2)
                row[which] += 1
                row[3] = row[3] or (f"{formula}: {verdict!s}" if which == 2 else "")
    return table


def main(source="numpy", draws="50", kind="float32", only=None):
    if source == "named":
        table = named(draws, *([kind] if kind.isdigit() else ["100", kind]), *([only] if only else []))
        for name, (right, weak, other, why) in table.items():
            print(f"{name}: {right} PASS, {weak} WEAK, {other} others{'; ' if why else ''}{why}")
        print([sum(column) for column in list(zip(*table.values()))[:3]])
        return
    if source == "power":
        for name in kernel.definitions:
            print(f"{name}: {power_of(name, int(draws))}")
        return
    if source == "torch":
        from beside_torch import TORCH as table
    else:
        table = NUMPY
    statuses = collections.Counter()
    found = compare(table, int(draws), only, kind, statuses)
    for name, why in found.items():
        print(f"{name}: {len(why)} of {draws}; {why[0]}")
    print(f"{len(table)} definitions, {draws} draws each, {kind}: {dict(statuses)}; {sum(map(len, found.values()))} disagreements in {len(found)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
