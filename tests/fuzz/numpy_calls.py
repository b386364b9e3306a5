"""Compares the definitions of tensor functions (fuzz/definitions) with NumPy.

A line of the input: {"name", "args": {...}, "in": [{"dtype", "shape", "values"}], "out": [{"dtype",
"shape", "values", "off"}]}, where `values` are numbers as text and `off` is the tolerance of each,
"inf" for anything. Prints a line per disagreement, and finally "checked N calls of M functions".
"""
import json
import sys
import warnings

import numpy as np

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


FUNCTIONS = {
    **{n: (lambda f: lambda a, x: f(x))(getattr(np, n))
       for n in ("exp exp2 log log2 sin cos tan sqrt expm1 log1p sinh cosh tanh floor ceil trunc sign abs "
                 "square isnan isinf isfinite logical_not").split()},
    "asinh": lambda a, x: np.arcsinh(x), "acosh": lambda a, x: np.arccosh(x),
    "atanh": lambda a, x: np.arctanh(x), "round": lambda a, x: np.rint(x),
    "neg": lambda a, x: -x, "reciprocal": lambda a, x: 1 / x, "rsqrt": lambda a, x: 1 / np.sqrt(x),
    "relu": lambda a, x: np.where(x < 0, 0, x), "sigmoid": lambda a, x: 1 / (1 + np.exp(-x)),
    "silu": lambda a, x: x / (1 + np.exp(-x)),
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
    "matmul": lambda a, x, y: np.matmul(x, y),
    "einsum": lambda a, *x: np.einsum(a["notation"], *x),
    "reshape": lambda a, x: x.reshape(ints(a["shape"])),
    "permute": lambda a, x: x.transpose(ints(a["order"])),
    "transpose": lambda a, x: np.swapaxes(x, int(a.get("a", -2)), int(a.get("b", -1))),
    "movedim": lambda a, x: np.moveaxis(x, int(a["from"]), int(a["to"])),
    "flip": lambda a, x: np.flip(x, tuple(ints(a["axes"]))), "pad": padded,
    "roll": lambda a, x: np.roll(x, int(a["by"]), axis_of(a)),
    "repeat": lambda a, x: np.tile(x, ints(a["times"])),
    "repeat_interleave": lambda a, x: np.repeat(x, int(a["times"]), axis_of(a)),
    "triu": lambda a, x: np.triu(x, int(a.get("k", 0))), "tril": lambda a, x: np.tril(x, int(a.get("k", 0))),
    "diagonal": lambda a, x: np.diagonal(x, 0, int(a["a"]), int(a["b"])),
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


def loss(a, x):
    return {"none": lambda: x, "sum": x.sum, "mean": x.mean}[a.get("reduction", "mean")]()


def number(text, dtype):
    return float(text) if dtype.kind == "f" else int(float(text)) if "." in text else int(text)


def array(said, key="values"):
    dtype = np.dtype(said["dtype"])
    return np.array([number(v, dtype) for v in said[key]], dtype).reshape(said["shape"])


def differs(got, said):
    wanted = np.array([float(v) for v in said["values"]], np.float64)
    off = np.array([float(v) for v in said["off"]])
    if list(got.shape) != said["shape"]:
        return f"shape {list(got.shape)}, defined as {said['shape']}"
    got = got.reshape(-1).astype(np.float64)
    near = np.abs(got - wanted) <= 8 * off + 1e-9 * np.abs(wanted) * (off > 0)
    right = (got == wanted) | (np.isnan(got) & np.isnan(wanted)) | near | np.isinf(off)
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
    except Exception as error:  # NumPy accepts every draw except extremes of nothing
        if "zero-size array" in str(error):
            continue
        results, said = None, f"{type(error).__name__}: {error}"
        print(f"{call['name']}: {said}: {line[:300]}")
        wrong += 1
    if results is None:
        continue
    checked += 1
    functions.add(call["name"])
    for result, out in zip(results if isinstance(results, tuple) else (results,), call["out"]):
        said = differs(np.asarray(result), out)
        if said:
            wrong += 1
            print(f"{call['name']}: {said}: {line[:400].strip()}")
print(f"checked {checked} calls of {len(functions)} functions")
sys.exit(1 if wrong else 0)
