"""Runs programs of tensor operations, one JSON object per line, with NumPy, and reports steps with
other values. Each step receives the recorded values of its operands, so that one rounding does not
affect later steps.

A line: {"values": [{"dtype", "shape", "hex"}], "steps": [{"op", "args", "in": [...], "out": n}]}.
Prints a line per disagreement, and finally "checked N steps of M programs".
"""
import json
import sys
import warnings

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

np.seterr(all="ignore")
warnings.simplefilter("ignore")  # degrees of freedom of 0
# ULP of the magnitude that an operation works with.
UNITS = 64


def norm(a, n):
    return a % n if n else 0


def axes(a, x):
    return tuple(norm(i, x.ndim) for i in a["axes"])


def kept(a):
    return {"keepdims": bool(a["keep"])}


def total(x, a, out):  # sums, and the sums of magnitudes
    kind = dict(axis=axes(a, x), dtype=out.dtype, **kept(a))
    return x.sum(**kind), np.abs(x).sum(**kind)


def mean(x, a, out):
    n = np.prod([x.shape[i] for i in axes(a, x)])
    s, m = total(x.astype(out.dtype), a, out)
    return s / out.dtype.type(n), m / max(n, 1)


def var(x, a, out):
    x = x.astype(out.dtype)
    v = x.var(axis=axes(a, x), ddof=a["correction"], **kept(a))
    # The mean errs by one ULP of the largest element, and so does each difference from it.
    largest = np.max(np.abs(x[np.isfinite(x)]), initial=0)
    if a["root"]:
        return np.sqrt(v), 1 + largest
    return v, 1 + largest**2


def softmax(x, a, out):
    e = np.exp(x - x.max(axis=a["axis"], keepdims=True))
    return e / e.sum(axis=a["axis"], keepdims=True), 1


def logsumexp(x, a, out):
    return np.logaddexp.reduce(x, axis=a["axis"]), 1 + np.abs(np.nan_to_num(x, posinf=0, neginf=0)).max(initial=0)


def log_softmax(x, a, out):
    d = x - x.max(axis=a["axis"], keepdims=True)
    return d - np.log(np.exp(d).sum(axis=a["axis"], keepdims=True)), big(np.nan_to_num(d, neginf=0))


def windows(x, kernel, stride, dilation):
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation))
    n = len(kernel)
    seen = sliding_window_view(x, reach, axis=tuple(range(x.ndim - n, x.ndim)))
    seen = seen[(Ellipsis,) + tuple(slice(None, None, s) for s in stride) + (slice(None),) * n]
    return seen[(Ellipsis,) + tuple(slice(None, None, d) for d in dilation)]


def conv(x, w, a, out):
    n, g = x.ndim - 2, a["groups"]
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in a["padding"]])
    seen = windows(x, w.shape[2:], a["stride"], a["dilation"])
    seen = seen.reshape((x.shape[0], g, x.shape[1] // g) + seen.shape[2:])
    w = w.reshape((g, w.shape[0] // g) + w.shape[1:])
    o, k = "xyz"[:n], "uvw"[:n]
    y = [np.einsum(f"ngi{o}{k},goi{k}->ngo{o}", p, q) for p, q in ((seen, w), (abs(seen), abs(w)))]
    return tuple(p.reshape(out.shape) for p in y)


def pool(x, a, out):
    fill = -np.inf if a["max"] else 0
    p = [(0, 0)] * (x.ndim - 2) + [(q, q) for q in a["padding"]]
    seen = windows(np.pad(x, p, constant_values=fill), a["kernel"], a["stride"], (1, 1))
    if a["max"]:
        return seen.max(axis=(-2, -1)), 0
    return seen.mean(axis=(-2, -1)), np.abs(seen).mean(axis=(-2, -1))


def scatter(x, i, s, a, out):
    y = x.copy()
    np.put_along_axis(y, i, s, a["axis"])
    return y


def one_slice(s):
    return slice(*s) if isinstance(s, list) else s


def index(x, a, tensors):
    parts = []
    for part in a["parts"]:
        if part == "tensor":
            parts.append(tensors.pop(0))
        elif part == "new":
            parts.append(None)
        elif part == "...":
            parts.append(Ellipsis)
        else:
            parts.append(one_slice(part))
    return x[tuple(parts)]


def big(x):
    return 1 + np.abs(x)


def product(f):  # the value, and that of the magnitudes
    return lambda v, a, out: (f(v, a, out), f([np.abs(x) for x in v], a, out))


# The compute type comes first: operands are converted to it, because promotion rules differ.
def arithmetic(f):
    return lambda v, a, out: f(*[x.astype(a["dtype"]) for x in v])


def sums_of(f):
    def g(v, a, out):
        v = [x.astype(a["dtype"]) for x in v]
        return f(*v), np.abs(v[0]) + np.abs(v[1])

    return g


def powers(v, a, out):
    x, y = (p.astype(a["dtype"]) for p in v)
    r = np.power(x, y)
    return r, big(r) * (1 + np.abs(y * np.log2(np.abs(x) + 1e-30)))


U = lambda f, scale=None: lambda v, a, out: (
    f(v[0].astype(out.dtype)),
    0 if scale is None else scale(v[0].astype(out.dtype)),
)
B = lambda f: lambda v, a, out: f(v[0])

OPS = {
    # Elementwise: value and magnitude.
    "neg": B(lambda x: -x),
    "exp": U(np.exp, lambda x: np.exp(x) * big(x)),
    "exp2": U(np.exp2),
    "log": U(np.log),
    "log2": U(np.log2),
    "sin": U(np.sin),
    "cos": U(np.cos, big),
    "tan": U(np.tan, lambda x: big(x) * (1 + np.tan(x) ** 2)),
    "sqrt": U(np.sqrt),
    "rsqrt": U(lambda x: 1 / np.sqrt(x)),
    "reciprocal": U(np.reciprocal),
    "sigmoid": U(lambda x: 1 / (1 + np.exp(-x)), big),
    "tanh": U(np.tanh, big),
    "softplus": U(lambda x: np.logaddexp(x, x.dtype.type(0)), big),
    "silu": U(lambda x: x / (1 + np.exp(-x)), lambda x: big(x) ** 2),
    "relu": B(lambda x: np.maximum(x, 0)),
    "abs": B(np.abs),
    "square": B(np.square),
    "floor": B(np.floor),
    "ceil": B(np.ceil),
    "trunc": B(np.trunc),
    "round": B(np.round),
    "sign": B(np.sign),
    "isnan": B(np.isnan),
    "isinf": B(np.isinf),
    "isfinite": B(np.isfinite),
    "logical_not": B(np.logical_not),
    "clamp": B(lambda x: np.clip(x, -1, 2)),
    "cast": lambda v, a, out: v[0].astype(out.dtype),
    "add": sums_of(np.add),
    "sub": sums_of(np.subtract),
    "mul": arithmetic(np.multiply),
    "div": arithmetic(np.divide),
    "fmod": arithmetic(np.fmod),
    "pow": powers,
    "maximum": arithmetic(np.maximum),
    "minimum": arithmetic(np.minimum),
    "lt": arithmetic(np.less),
    "le": arithmetic(np.less_equal),
    "gt": arithmetic(np.greater),
    "ge": arithmetic(np.greater_equal),
    "eq": arithmetic(np.equal),
    "ne": arithmetic(np.not_equal),
    "where": lambda v, a, out: np.where(v[0], v[1].astype(a["dtype"]), v[2].astype(a["dtype"])),
    # Reductions and scans.
    "sum": lambda v, a, out: total(v[0], a, out),
    "mean": lambda v, a, out: mean(v[0], a, out),
    "var": lambda v, a, out: var(v[0], a, out),
    "max": lambda v, a, out: v[0].max(axis=axes(a, v[0]), **kept(a)),
    "min": lambda v, a, out: v[0].min(axis=axes(a, v[0]), **kept(a)),
    "prod": lambda v, a, out: v[0].prod(axis=axes(a, v[0]), dtype=out.dtype, **kept(a)),
    "any": lambda v, a, out: v[0].any(axis=axes(a, v[0]), **kept(a)),
    "all": lambda v, a, out: v[0].all(axis=axes(a, v[0]), **kept(a)),
    "argmax": lambda v, a, out: v[0].argmax(axis=a["axis"]),
    "argmin": lambda v, a, out: v[0].argmin(axis=a["axis"]),
    "cumsum": lambda v, a, out: (
        v[0].cumsum(axis=a["axis"], dtype=out.dtype),
        np.abs(v[0]).cumsum(axis=a["axis"], dtype=out.dtype),
    ),
    "cumprod": lambda v, a, out: v[0].cumprod(axis=a["axis"], dtype=out.dtype),
    "cummax": lambda v, a, out: np.maximum.accumulate(v[0], axis=a["axis"]),
    "cummin": lambda v, a, out: np.minimum.accumulate(v[0], axis=a["axis"]),
    "logsumexp": lambda v, a, out: logsumexp(v[0], a, out),
    "softmax": lambda v, a, out: softmax(v[0], a, out),
    "log_softmax": lambda v, a, out: log_softmax(v[0], a, out),
    # Movement.
    "reshape": lambda v, a, out: v[0].reshape(a["shape"]),
    "permute": lambda v, a, out: v[0].transpose(a["order"]),
    "expand": lambda v, a, out: np.broadcast_to(v[0], a["shape"]),
    "pad": lambda v, a, out: np.pad(v[0], a["pairs"], a["mode"], **({"constant_values": a["value"]} if a["mode"] == "constant" else {})),
    "flip": lambda v, a, out: np.flip(v[0], a["axis"]),
    "slice": lambda v, a, out: v[0][tuple(slice(*s) for s in a["slices"])],
    "roll": lambda v, a, out: np.roll(v[0], a["by"], a["axis"]),
    "repeat": lambda v, a, out: np.tile(v[0], a["times"]),
    "repeat_interleave": lambda v, a, out: np.repeat(v[0], a["times"], a["axis"]),
    "triu": lambda v, a, out: np.triu(v[0], a["k"]),
    "tril": lambda v, a, out: np.tril(v[0], a["k"]),
    "diagonal": lambda v, a, out: np.diagonal(v[0], axis1=a["axes"][0], axis2=a["axes"][1]),
    "unfold": lambda v, a, out: sliding_window_view(v[0], a["size"], a["axis"])[
        (slice(None),) * a["axis"] + (slice(None, None, a["step"]),)
    ],
    "movedim": lambda v, a, out: np.moveaxis(v[0], a["from"], a["to"]),
    "unsqueeze": lambda v, a, out: np.expand_dims(v[0], a["axis"]),
    "squeeze": lambda v, a, out: np.squeeze(v[0]),
    "split": lambda v, a, out: np.split(v[0], [a["at"]], a["axis"])[a["part"]],
    "cat": lambda v, a, out: np.concatenate([x.astype(a["dtype"]) for x in v], a["axis"]),
    "stack": lambda v, a, out: np.stack(v, a["axis"]),
    # Indexed by tensors.
    "take": lambda v, a, out: np.take(v[0], v[1], a["axis"]),
    "gather": lambda v, a, out: np.take_along_axis(v[0], v[1], a["axis"]),
    "scatter": lambda v, a, out: scatter(v[0], v[1], v[2], a, out),
    "index": lambda v, a, out: index(v[0], a, list(v[1:])),
    "sort": lambda v, a, out: np.sort(v[0], a["axis"]),
    "argsort": lambda v, a, out: np.argsort(v[0], a["axis"], kind="stable"),
    "one_hot": lambda v, a, out: v[0][..., None] == np.arange(a["classes"]),
    # Sums of products.
    "matmul": product(lambda v, a, out: np.matmul(*[x.astype(out.dtype) for x in v])),
    "einsum": product(lambda v, a, out: np.einsum(a["notation"], *[x.astype(out.dtype) for x in v])),
    "conv": lambda v, a, out: conv(v[0], v[1], a, out),
    "pool": lambda v, a, out: pool(v[0], a, out),
}
# Nothing is computed, so the sign of zero counts too.
EXACT = {"reshape", "permute", "expand", "flip", "slice", "unfold", "movedim", "unsqueeze", "squeeze",
         "repeat", "repeat_interleave", "diagonal", "split", "round", "trunc", "floor", "ceil", "neg"}


def array(v):
    return np.frombuffer(bytes.fromhex(v["hex"]), v["dtype"]).reshape(v["shape"])


def disagreement(step, values):
    out = values[step["out"]]
    wanted = OPS[step["op"]]([values[i] for i in step["in"]], step["args"], out)
    wanted, scale = wanted if isinstance(wanted, tuple) else (wanted, 0)
    wanted = np.asarray(wanted)
    if wanted.shape != out.shape:
        return f"shape {out.shape}, numpy {wanted.shape}"
    wanted = wanted.astype(out.dtype)
    if out.dtype.kind == "f":
        allowed = UNITS * np.finfo(out.dtype).eps * np.maximum(np.maximum(np.abs(wanted), 1), scale)
        same = (out == wanted) | (np.isnan(out) & np.isnan(wanted)) | (np.abs(out - wanted) <= allowed)
        if step["op"] in EXACT:
            same &= (np.signbit(out) == np.signbit(wanted)) | np.isnan(out)
    else:
        same = out == wanted
    if np.all(same):
        return None
    at = tuple(int(i) for i in np.argwhere(~np.atleast_1d(same))[0])
    return f"at {at}: {np.atleast_1d(out)[at]!r}, numpy {np.atleast_1d(wanted)[at]!r}"


def main():
    steps = programs = 0
    for line in sys.stdin:
        program = json.loads(line)
        values = [array(v) for v in program["values"]]
        programs += 1
        for step in program["steps"]:
            steps += 1
            try:
                bad = disagreement(step, values)
            except Exception as error:  # NumPy refuses an accepted input
                bad = f"{type(error).__name__}: {error}"
            if bad:
                shapes = [f"{values[i].dtype}{list(values[i].shape)}" for i in step["in"]]
                small = [values[i].tolist() for i in step["in"] if values[i].size <= 12]
                print(f"{step['op']} {json.dumps(step['args'])} of {', '.join(shapes)} {small}: {bad}")
    print(f"checked {steps} steps of {programs} programs")


main()
