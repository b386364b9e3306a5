"""Compares the definitions of tensor functions (fuzz/definitions) with NumPy.

A line of the input: {"name", "args": {...}, "in": [{"dtype", "shape", "values"}], "out": [{"dtype",
"shape", "values", "off"}]}, where `values` are numbers as text and `off` is the tolerance of each,
"inf" for anything. Prints a line per disagreement, and finally "checked N calls of M functions".
"""
import json
import sys
import warnings

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

np.seterr(all="ignore")
warnings.simplefilter("ignore")


def ints(text):
    return [int(n) for n in text.split(",")] if text != "()" else []


def axes(a, x):
    return tuple(ints(a["axes"])) if "axes" in a else tuple(range(x.ndim))


def reduced(f):
    return lambda a, x: f(x, axis=axes(a, x), keepdims="axes" in a and a.get("keep") == "1")


def spread(f):
    def of(a, x):
        if "axes" not in a and "correction" not in a:
            return f(x, ddof=1)
        return f(x, axis=axes(a, x), keepdims="axes" in a and a.get("keep") == "1",
                 ddof=int(a.get("correction", 1)))
    return of


def position(f):
    def of(a, x):
        return f(x, axis=int(a["axis"]), keepdims=a.get("keep") == "1") if "axis" in a else f(x)
    return of


def pair(f):
    def of(a, x, y=None):
        if y is None:
            y = x.dtype.type(float(a["number"]))
            return f(y, x) if a.get("side") == "left" else f(x, y)
        return f(x, y)
    return of


def pads(a):
    return list(zip(ints(a["before"]), ints(a["after"])))


def padded(a, x):
    names = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    mode = names[a.get("mode", "constant")]
    more = {"constant_values": float(a.get("value", 0))} if mode == "constant" else {}
    return np.pad(x, pads(a), mode=mode, **more)


def ordered(a, x, otherwise):
    axis = int(a.get("axis", -1))
    down = a.get("order", otherwise) == "descending"
    key = np.flip(x, axis) if down else x
    at = np.argsort(key, axis=axis, kind="stable")
    if down:  # keeps the first of equals first
        at = np.flip(x.shape[axis] - 1 - at, axis)
    return np.take_along_axis(x, at, axis), at


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def axis_of(a, otherwise=0):
    return int(a.get("axis", otherwise))


def one_slice(text):
    return slice(*[int(n) if n else None for n in (text + "::").split(":")[:3]])


def index(a, x, *tensors):
    tensors, parts = list(tensors), []
    for part in a["parts"].split(","):
        if part == "tensor":
            parts.append(tensors.pop(0))
        elif part in ("new", "..."):
            parts.append(None if part == "new" else Ellipsis)
        else:
            parts.append(one_slice(part) if ":" in part else int(part))
    # Numbers first: NumPy takes them for positions that stand beside the tensors.
    axes = [p.ndim if getattr(p, "dtype", None) == bool else 1 for p in parts]
    whole = [[p] if isinstance(p, int) or p is Ellipsis else [] if p is None else [slice(None)] * n
             for p, n in zip(parts, axes)]
    return x[tuple(sum(whole, []))][tuple(p for p in parts if not isinstance(p, int))]


def scatter(a, x, at, source):
    if any(n != m for i, (n, m) in enumerate(zip(x.shape, at.shape)) if i != axis_of(a, -1) % x.ndim):
        return None
    y = x.copy()
    np.put_along_axis(y, at, source, axis_of(a, -1))
    return y


def expanded(a, x):
    shape = ints(a["shape"])
    own = [1] * (len(shape) - x.ndim) + list(x.shape)
    return np.broadcast_to(x, [m if n == -1 else n for n, m in zip(shape, own)])


def split(a, x):
    axis = axis_of(a)
    size = x.shape[axis]
    cuts = np.cumsum(ints(a["sizes"]))[:-1] if "sizes" in a else range(int(a["size"]), size, int(a["size"]))
    return tuple(np.split(x, list(cuts), axis))


def unfold(a, x):
    axis = axis_of(a) % x.ndim
    return sliding_window_view(x, int(a["size"]), axis)[(slice(None),) * axis + (slice(None, None, int(a["step"])),)]


def per_axis(a, key, n, otherwise):
    given = ints(a[key]) if key in a else [otherwise]
    return given if len(given) == n else given * n


def windows(a, x, kernel, stride, fill=0):
    n = len(kernel)
    before, after = (per_axis(a, key if "before" in a else "padding", n, 0) for key in ("before", "after"))
    if min(before + after) < 0:
        return None
    x = np.pad(x, [(0, 0)] * (x.ndim - n) + list(zip(before, after)), constant_values=fill)
    dilation = per_axis(a, "dilation", n, 1)
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation))
    seen = sliding_window_view(x, reach, axis=tuple(range(x.ndim - n, x.ndim)))
    seen = seen[(Ellipsis,) + tuple(slice(None, None, s) for s in stride) + (slice(None),) * n]
    return seen[(Ellipsis,) + tuple(slice(None, None, d) for d in dilation)]


def conv(a, x, w, bias=None):
    n, g = x.ndim - 2, int(a.get("groups", 1))
    seen = windows(a, x, w.shape[2:], per_axis(a, "stride", n, 1))
    if seen is None:
        return None
    seen = seen.reshape((x.shape[0], g, x.shape[1] // g) + seen.shape[2:])
    o, k = "xyz"[:n], "uvw"[:n]
    y = np.einsum(f"ngi{o}{k},goi{k}->ngo{o}", seen, w.reshape((g, w.shape[0] // g) + w.shape[1:]))
    y = y.reshape((x.shape[0], w.shape[0]) + y.shape[3:])
    return y if bias is None else y + bias.reshape((-1,) + (1,) * n)


def pooled(most):
    def of(a, x):
        kernel = ints(a["kernel"])
        n = len(kernel)
        if x.dtype.kind != "f":
            return None
        seen = windows(a, x, kernel, per_axis(a, "stride", n, 1) if "stride" in a else kernel, -np.inf if most else 0)
        return None if seen is None else (np.max if most else np.mean)(seen, axis=tuple(range(-n, 0)))
    return of


def of_floats(f):
    return lambda a, x, *y: f(a, x, *y) if x.dtype.kind == "f" else None


def real(f):  # NumPy computes some integers in float16
    return lambda a, x: f(x.astype(np.float64))


FUNCTIONS = {
    **{n: real(getattr(np, n))
       for n in "exp exp2 log log2 sin cos tan sqrt expm1 log1p sinh cosh tanh".split()},
    **{n: (lambda f: lambda a, x: f(x))(getattr(np, n))
       for n in "sign abs square isnan isinf isfinite logical_not".split()},
    **{n: (lambda f: lambda a, x: f(x) if x.dtype.kind == "f" else x)(f)
       for n, f in {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint}.items()},
    "asinh": real(np.arcsinh), "acosh": real(np.arccosh), "atanh": real(np.arctanh),
    "neg": lambda a, x: -x, "reciprocal": real(lambda x: 1 / x), "rsqrt": real(lambda x: 1 / np.sqrt(x)),
    "relu": lambda a, x: np.where(x < 0, 0, x), "sigmoid": real(lambda x: 1 / (1 + np.exp(-x))),
    "silu": real(lambda x: x / (1 + np.exp(-x))), "softplus": real(lambda x: np.logaddexp(x, 0)),
    "clamp": of_floats(lambda a, x: np.clip(x, float(a["low"]), float(a["high"]))),
    "cast": lambda a, x: x.astype(a["to"])
    if a["to"] in ("float64", "float32", "bool") or (x.dtype.kind != "f" and "float" not in a["to"]) else None,
    "operator/": of_floats(pair(np.divide)), "mod": of_floats(pair(np.fmod)), "pow": of_floats(pair(np.power)),
    "expand": expanded, "split": split, "unfold": unfold, "index": index, "scatter": scatter,
    "slice": lambda a, x: x[tuple(map(one_slice, a["parts"].split(",")))],
    "unsqueeze": lambda a, x: np.expand_dims(x, int(a["axis"])),
    "squeeze": lambda a, x: np.squeeze(x) if "axis" not in a else
    np.squeeze(x, int(a["axis"])) if x.shape[int(a["axis"])] == 1 else x,
    "take": lambda a, x, at=None: np.take(x, ints(a["at"]) if at is None else at, axis_of(a)),
    "one_hot": lambda a, x: x[..., None] == np.arange(int(a["classes"])),
    "conv": conv, "conv1d": conv, "conv2d": conv, "Conv1d": conv, "Conv2d": conv,
    "max_pool": pooled(True), "avg_pool": pooled(False), "max_pool2d": pooled(True), "avg_pool2d": pooled(False),
    "operator+": pair(np.add), "operator-": pair(np.subtract), "operator*": pair(np.multiply),
    "operator<": pair(np.less), "operator<=": pair(np.less_equal), "operator>": pair(np.greater),
    "operator>=": pair(np.greater_equal), "operator==": pair(np.equal),
    "operator!=": pair(np.not_equal), "maximum": pair(np.maximum), "minimum": pair(np.minimum),
    "sum": reduced(np.sum), "mean": reduced(np.mean), "max": reduced(np.max), "min": reduced(np.min),
    "prod": reduced(np.prod), "any": reduced(np.any), "all": reduced(np.all),
    "var": spread(np.var), "std": spread(np.std),
    "argmax": position(np.argmax), "argmin": position(np.argmin),
    "cumsum": lambda a, x: np.cumsum(x, axis_of(a)), "cumprod": lambda a, x: np.cumprod(x, axis_of(a)),
    "cummax": lambda a, x: np.maximum.accumulate(x, axis_of(a)),
    "cummin": lambda a, x: np.minimum.accumulate(x, axis_of(a)),
    # Narrow integers are summed in 32 bits.
    "matmul": lambda a, x, y: np.matmul(x, y) if x.itemsize >= 4 else None,
    "einsum": lambda a, *x: np.einsum(a["notation"], *x) if x[0].itemsize >= 4 else None,
    "reshape": lambda a, x: x.reshape(ints(a["shape"])),
    "permute": lambda a, x: x.transpose(ints(a["order"])),
    "transpose": lambda a, x: np.swapaxes(x, int(a.get("a", -2)), int(a.get("b", -1))),
    "movedim": lambda a, x: np.moveaxis(x, int(a["from"]), int(a["to"])),
    "flip": lambda a, x: np.flip(x, tuple(ints(a["axes"]))), "pad": padded,
    "roll": lambda a, x: np.roll(x, int(a["by"]), axis_of(a)),
    "repeat": lambda a, x: np.tile(x, ints(a["times"])),
    "repeat_interleave": lambda a, x: np.repeat(x, int(a["times"]), axis_of(a)),
    "triu": lambda a, x: np.triu(x, int(a.get("k", 0))), "tril": lambda a, x: np.tril(x, int(a.get("k", 0))),
    "diagonal": lambda a, x: np.diagonal(x, 0, int(a.get("a", -2)), int(a.get("b", -1))),
    "cat": lambda a, *x: np.concatenate(x, axis_of(a)), "stack": lambda a, *x: np.stack(x, axis_of(a)),
    "where": lambda a, c, *x: np.where(c != 0, *x) if len(x) == 2 else None,
    "sort": lambda a, x: ordered(a, x, "ascending"),
    "argsort": lambda a, x: ordered(a, x, "ascending")[1],
    "gather": lambda a, x, at: np.take_along_axis(x, at, axis_of(a, -1))
    if all(n == m for i, (n, m) in enumerate(zip(x.shape, at.shape)) if i != axis_of(a, -1) % x.ndim)
    else None,
    "softmax": lambda a, x: softmax(x, axis_of(a, -1)) if x.ndim else None,
    "log_softmax": lambda a, x: np.log(softmax(x, axis_of(a, -1))) if x.ndim else None,
    "logsumexp": lambda a, x: np.logaddexp.reduce(x * 1.0, axis=axes(a, x), keepdims=a.get("keep") == "1"),
    "linear": lambda a, x, w, b=0: x @ w.T + b,
    "mse_loss": lambda a, x, y: loss(a, (x - y) ** 2), "l1_loss": lambda a, x, y: loss(a, abs(x - y)),
    "broadcast_shape": lambda a, x, y: np.array(np.broadcast_shapes(x.shape, y.shape), np.int64),
}


# Nothing is computed, so the sign of zero counts too.
EXACT = {"reshape", "permute", "transpose", "expand", "flip", "slice", "unfold", "movedim", "unsqueeze", "squeeze",
         "repeat", "repeat_interleave", "roll", "diagonal", "split", "cat", "stack", "round", "trunc", "floor", "ceil",
         "neg", "take", "gather", "index"}


def loss(a, x):
    return {"none": lambda: x, "sum": x.sum, "mean": x.mean}[a.get("reduction", "mean")]()


def number(text, dtype):
    return float(text) if dtype.kind == "f" else int(float(text)) if "." in text else int(text)


def array(said, key="values"):  # floats in float64: rounding errors are those of the definition
    dtype = np.dtype("float64" if said["dtype"] == "float32" else said["dtype"])
    return np.array([number(v, dtype) for v in said[key]], dtype).reshape(said["shape"])


def differs(name, got, said):
    wanted = np.array([float(v) for v in said["values"]], np.float64)
    off = np.array([float(v) for v in said["off"]])
    if list(got.shape) != said["shape"]:
        return f"shape {list(got.shape)}, defined as {said['shape']}"
    got = got.reshape(-1).astype(said["dtype"]).astype(np.float64)
    near = np.abs(got - wanted) <= 8 * off + 1e-9 * np.abs(wanted) * (off > 0)
    right = (got == wanted) | (np.isnan(got) & np.isnan(wanted)) | near | np.isinf(off)
    if name in EXACT:
        right &= (np.signbit(got) == np.signbit(wanted)) | np.isnan(got)
    at = np.flatnonzero(~right)
    return f"element {at[0]} is {got[at[0]]!r}, defined as {wanted[at[0]]!r}" if at.size else None


checked, functions, wrong = 0, set(), 0
for line in sys.stdin:
    call = json.loads(line)
    f = FUNCTIONS.get(call["name"])
    if f is None:
        continue
    try:
        results = f(call["args"], *map(array, call["in"]))
    except Exception as error:  # NumPy accepts every other draw
        if "zero-size array" in str(error):
            continue
        if isinstance(error, TypeError) and call["in"][0]["dtype"] == "bool":
            continue  # no - and no sign of bools
        results, said = None, f"{type(error).__name__}: {error}"
        print(f"{call['name']}: {said}: {line[:300]}")
        wrong += 1
    if results is None:
        continue
    checked += 1
    functions.add(call["name"])
    for result, out in zip(results if isinstance(results, tuple) else (results,), call["out"]):
        said = differs(call["name"], np.asarray(result), out)
        if said:
            wrong += 1
            print(f"{call['name']}: {said}: {line[:400].strip()}")
for name in sorted(FUNCTIONS.keys() - functions):
    wrong += 1
    print(f"{name}: no call that NumPy can check")
print(f"checked {checked} calls of {len(functions)} functions")
sys.exit(1 if wrong else 0)
