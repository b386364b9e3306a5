"""Faults that people make, in named kernels written with NumPy: how many are seen?

    PYTHONPATH=build/dev/python python3 tests/python/composite_faults.py --touchstone build/dev/cli/touchstone

Each pair of a kernel and a fault that changes some result is judged on normally distributed numbers, then on the inputs
that `touchstone probe` draws for the kernel. Prints the pairs that are never FAIL or SUSPECT, and the shares.
"""
import argparse
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

from touchstone._judging import check_op

F = np.float32


def bf16(x):
    bits = np.ascontiguousarray(x, F).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(x), x, rounded.view(F))


def f16(x):
    return np.asarray(x, F).astype(np.float16).astype(F)


class Right:
    """The steps of a kernel, without a fault."""
    def input(self, i, x): return x
    def exp(self, x): return np.exp(x)
    def rsqrt(self, x): return F(1) / np.sqrt(x)
    def number(self, name, x): return F(x)
    def round(self, x): return x
    def terms(self, x): return x  # of a sum or maximum, on the last axis
    def weights(self, x): return self.round(x)
    def out(self, y): return y

    def sum(self, x, axis=-1):
        return self.terms(np.moveaxis(x, axis, -1)).sum(-1, dtype=F)

    def max(self, x, axis=-1):
        return self.terms(np.moveaxis(x, axis, -1)).max(-1)

    def dot(self, a, b):  # (.., n, k) by (.., k, m)
        return self.sum(a[..., :, None, :] * np.swapaxes(b, -1, -2)[..., None, :, :])


def fault(**methods):
    return type("Fault", (Right,), methods)()


def in_sequence(rounded):
    def total(self, x, axis=-1):
        result = F(0)
        for term in np.moveaxis(self.terms(np.moveaxis(x, axis, -1)), -1, 0):
            result = rounded(F(result + term))
        return np.asarray(result, F)
    return total


def without(index):
    def terms(self, x):
        at = x.shape[-1] - 1 if index == -1 else x.shape[-1] // 2 if index is None else index
        return np.delete(x, at, -1) if x.shape[-1] > 1 else x
    return terms


def at_input(which, change):
    return fault(input=lambda self, i, x: change(x) if i == which else x)


def number_is(name, value):
    return fault(number=lambda self, n, x: F(value(x)) if n == name else F(x))


def flat(change):
    def out(self, y):
        y = np.array(y, F)
        change(y.reshape(-1))
        return y
    return fault(out=out)


def last_zero(y): y[-1] = 0
def last_rows_zero(y): y[-(len(y) // 4 or 1):] = 0
def one_ulps(y): y[len(y) // 2] += 16 * np.spacing(y[len(y) // 2])
def one_percent(y): y[len(y) // 3] *= F(1.01)
def one_sign(y): y[len(y) // 2] *= F(-1)
def neighbour(y): y[1:2] = y[:1]
def late(y): y[1:] = y[:-1].copy()
def swapped(y): y[:2] = y[:2][::-1].copy()


def relative(bits):
    """A relative error that depends on the number, up to 2^-bits."""
    return lambda x: F(x * (1 + np.sin(np.asarray(x, np.float64) * 12.9898) * 2.0 ** -bits))


FAULTS = {
    "x in bfloat16": at_input(0, bf16),
    "x in float16": at_input(0, f16),
    "x cut to 10 bits": at_input(0, lambda x: (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(F)),
    "second input in bfloat16": at_input(1, bf16),
    "x read with the first axis fastest": at_input(0, lambda x: x.reshape(x.shape[::-1]).T),
    "second input read so": at_input(1, lambda x: x.reshape(x.shape[::-1]).T),
    "x one place late": at_input(0, lambda x: np.roll(x.reshape(-1), 1).reshape(x.shape)),
    "third input ignored": at_input(2, lambda x: x * 0),
    "last term missing": fault(terms=without(-1)),
    "first term missing": fault(terms=without(0)),
    "middle term missing": fault(terms=without(None)),
    "last term twice": fault(terms=lambda self, x: np.concatenate([x, x[..., -1:]], -1)),
    "sums in bfloat16": fault(sum=in_sequence(bf16)),
    "sums in float16": fault(sum=in_sequence(f16)),
    "exp to 12 bits": fault(exp=lambda self, x: relative(12)(np.exp(x))),
    "exp to 17 bits": fault(exp=lambda self, x: relative(17)(np.exp(x))),
    "rsqrt to 11 bits": fault(rsqrt=lambda self, x: relative(11)(F(1) / np.sqrt(x))),
    "rsqrt to 16 bits": fault(rsqrt=lambda self, x: relative(16)(F(1) / np.sqrt(x))),
    "no eps": number_is("eps", lambda x: 0),
    "eps a tenth": number_is("eps", lambda x: x / 10),
    "n - 1": number_is("n", lambda n: n - 1),
    "n + 1": number_is("n", lambda n: n + 1),
    "no scale": number_is("scale", lambda x: 1),
    "scale by d": number_is("scale", lambda x: x * x),
    "stages in bfloat16": fault(round=lambda self, x: bf16(x)),
    "result in bfloat16": fault(out=lambda self, y: bf16(y)),
    "result in float16": fault(out=lambda self, y: f16(y)),
    "result times 1.0001": fault(out=lambda self, y: F(y * F(1.0001))),
    "result + 0.001": fault(out=lambda self, y: F(y + F(0.001))),
    "sign": fault(out=lambda self, y: -y),
    "last element not written": flat(last_zero),
    "last quarter not written": flat(last_rows_zero),
    "one element off by 16 ULP": flat(one_ulps),
    "one element off by 1 %": flat(one_percent),
    "one element of the other sign": flat(one_sign),
    "an element for its neighbour": flat(neighbour),
    "two elements exchanged": flat(swapped),
    "results one place late": flat(late),
}


def in_chunks(rounded, size):
    def total(self, x, axis=-1):
        x = self.terms(np.moveaxis(x, axis, -1))
        result = F(0)
        for at in range(0, x.shape[-1], size):
            result = rounded(F(result + x[..., at:at + size].sum(-1, dtype=F)))
        return np.asarray(result, F)
    return total


# Of kernels with long sums, whose bounds hide narrow stages.
NARROW_FAULTS = {
    "stages in float16": fault(round=lambda self, x: f16(x)),
    "weights in float16": fault(weights=lambda self, x: f16(x)),
    "weights in bfloat16": fault(weights=lambda self, x: bf16(x)),
    "exponentials in float16": fault(exp=lambda self, x: f16(np.exp(x))),
    "exponentials in bfloat16": fault(exp=lambda self, x: bf16(np.exp(x))),
    "sums of 16 terms in float16": fault(sum=in_chunks(f16, 16)),
    "sums of 64 terms in float16": fault(sum=in_chunks(f16, 64)),
}


def softmax(h, x):
    e = h.round(h.exp(x - h.max(x)[..., None]))
    return h.out(e / h.sum(e)[..., None])


def log_softmax(h, x):
    off = x - h.max(x)[..., None]
    return h.out(off - h.round(np.log(h.sum(h.exp(off))))[..., None])


def logsumexp(h, x):
    m = h.max(x)
    off = np.where(np.isinf(m), F(0), m)
    return h.out(np.log(h.sum(h.exp(x - off[..., None]))) + off)


def mean(h, x):
    return h.out(h.sum(x) / h.number("n", x.shape[-1]))


def variance(h, x):
    off = x - h.round(h.sum(x) / F(x.shape[-1]))[..., None]
    return h.sum(off * off) / h.number("n", x.shape[-1])


def normed(h, x, eps):
    m = h.round(h.sum(x) / F(x.shape[-1]))[..., None]
    return (x - m) * h.round(h.rsqrt(variance(h, x) + h.number("eps", eps)))[..., None]


def layer_norm(h, x, w, b):
    return h.out(normed(h, x, 1e-5) * w + b)


def rms_norm(h, x, w):
    return h.out(x * h.rsqrt(h.sum(x * x) / h.number("n", x.shape[-1]) + h.number("eps", 1e-6))[..., None] * w)


def group_norm(h, x):
    return h.out(normed(h, x.reshape(2, 2, -1), 1e-5).reshape(x.shape))


def batch_norm(h, x, m, v, w, b):
    return h.out((x - h.round(m)[:, None]) * h.rsqrt(np.abs(v) + h.number("eps", 1e-5))[:, None] * w[:, None] + b[:, None])


def linear(h, x, w, b):
    return h.out(h.round(h.dot(x, w.T)) + b)


def attention(h, q, k, v):
    scores = h.round(h.dot(q, k.T) * h.number("scale", 1 / math.sqrt(q.shape[-1])))
    e = h.exp(scores - h.max(scores)[..., None])
    return h.out(h.dot(h.weights(e / h.sum(e)[..., None]), v))


def conv1d(h, x, w, b):
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[-1], -1)  # n, c, size, window
    columns = np.moveaxis(windows, 1, 2).reshape(x.shape[0], -1, x.shape[1] * w.shape[-1])
    return h.out(np.swapaxes(h.dot(columns, w.reshape(w.shape[0], -1).T), 1, 2) + b[:, None])


def conv_transpose1d(h, x, w, b):  # of stride 2: (n, in, size), (in, out, 3)
    y = np.zeros((x.shape[0], w.shape[1], 2 * x.shape[2] + 1), F)
    for k in range(3):
        y[..., k:k + 2 * x.shape[2] - 1:2] += np.swapaxes(h.dot(np.swapaxes(x, 1, 2), w[..., k]), 1, 2)
    return h.out(y + b[:, None])


def avg_pool1d(h, x):
    return h.out(h.sum(np.lib.stride_tricks.sliding_window_view(x, 5, -1)) / h.number("n", 5))


def bilinear(h, x, sizes):
    for axis, size in ((-1, sizes[1]), (-2, sizes[0])):
        n = x.shape[axis]
        at = np.maximum((np.arange(size, dtype=F) + F(0.5)) * h.number("scale", n / size) - F(0.5), F(0))
        low = np.minimum(at.astype(int), n - 1)
        part = at - F(low)
        weights = np.stack([1 - part, part], -1)
        near = np.take(x, np.stack([low, np.minimum(low + 1, n - 1)], -1), axis)
        x = h.sum(near * weights) if axis == -1 else h.sum(near * weights[..., None], -2)
    return h.out(x)


def cumsum(h, x):
    return h.out(np.stack([h.sum(x[..., :i + 1]) for i in range(x.shape[-1])], -1))


def select_and_scatter(h, x, g):  # windows of 3
    windows = np.lib.stride_tricks.sliding_window_view(x, 3, -1)
    nan = np.isnan(windows)
    at = np.where(nan.any(-1), 2 - nan[..., ::-1].argmax(-1), np.where(nan, -np.inf, windows).argmax(-1))
    parts = np.zeros((*x.shape, 3), F)
    for k in range(3):
        parts[..., k:k + g.shape[-1], k] = np.where(at == k, g, 0)
    return h.out(h.sum(parts))
def masked_attention(h, q, k, v, mask):
    scores = h.round(h.dot(q, k.T) * h.number("scale", 1 / math.sqrt(q.shape[-1]))) + mask
    e = h.exp(scores - h.max(scores)[..., None])
    return h.out(h.dot(h.round(e / h.sum(e)[..., None]), v))


def huber(h, x, y):
    d = np.abs(x - y)
    return h.out(np.where(d < 1, F(0.5) * d * d, d - F(0.5)))


def bce_with_logits(h, x, t):
    return h.out((1 - t) * x + np.logaddexp(F(0), -x))


def lstm_gates(h, x, state, w, u):
    sums = h.round(h.dot(x, w.T)) + h.round(h.dot(state, u.T))
    i, f, g, o = np.split(sums, 4, -1)
    return *(1 / (1 + h.exp(-s)) for s in (i, f, o)), np.tanh(g)


def lstm_cell(h, x, state, c, w, u):
    i, f, o, g = lstm_gates(h, x, state, w, u)
    return h.out(o * np.tanh(f * c + i * g))


def gru_cell(h, x, state, w, u):
    a, b = h.round(h.dot(x, w.T)), h.round(h.dot(state, u.T))
    size = state.shape[-1]
    r, z = (1 / (1 + h.exp(-(a + b)[:, at:at + size])) for at in (0, size))
    n = np.tanh(a[:, 2 * size:] + r * b[:, 2 * size:])
    return h.out((1 - z) * n + z * state)


def rope(h, x, cos, sin):
    a, b = np.split(x, 2, -1)
    return h.out(np.concatenate([a * cos - b * sin, b * cos + a * sin], -1))


def complex_matmul(h, x, y):
    parts = [(x[..., 0], y[..., 0]), (x[..., 1], y[..., 1]), (x[..., 0], y[..., 1]), (x[..., 1], y[..., 0])]
    rr, ii, ri, ir = (h.dot(a, b) for a, b in parts)
    return h.out(np.stack([rr - ii, ri + ir], -1))


# op, shapes, attributes, the kernel
KERNELS = [
    ("softmax", [(6, 33)], {}, softmax),
    ("log_softmax", [(6, 33)], {}, log_softmax),
    ("logsumexp", [(24, 17)], {}, logsumexp),
    ("mean", [(24, 40)], {"axis": 1}, mean),
    ("sum", [(24, 40)], {"axis": 1}, lambda h, x: h.out(h.sum(x))),
    ("max", [(24, 40)], {"axis": 1}, lambda h, x: h.out(h.max(x))),
    ("min", [(24, 40)], {"axis": 1}, lambda h, x: h.out(-h.max(-x))),
    ("var", [(24, 40)], {"axis": 1}, lambda h, x: h.out(variance(h, x))),
    ("std", [(24, 40)], {"axis": 1}, lambda h, x: h.out(np.sqrt(variance(h, x)))),
    ("layer_norm", [(6, 48), (48,), (48,)], {}, layer_norm),
    ("rms_norm", [(6, 48), (48,)], {}, rms_norm),
    ("group_norm", [(2, 4, 12)], {"groups": 2}, group_norm),
    ("batch_norm", [(3, 4, 7), (4,), (4,), (4,), (4,)], {}, batch_norm),
    ("instance_norm", [(2, 3, 20)], {}, lambda h, x: h.out(normed(h, x, 1e-5))),
    ("matmul", [(12, 40), (40, 10)], {}, lambda h, a, b: h.out(h.dot(a, b))),
    ("linear", [(12, 40), (10, 40), (10,)], {}, linear),
    ("attention", [(9, 16), (14, 16), (14, 8)], {}, attention),
    ("attention", [(9, 16), (14, 16), (14, 8), (9, 14)], {}, masked_attention),
    ("attention", [(8, 64), (128, 64), (128, 64)], {}, attention),
    ("attention", [(4, 64), (1024, 64), (1024, 64)], {}, attention),
    ("huber_loss", [(6, 40), (6, 40)], {}, huber),
    ("mse_loss", [(6, 40), (6, 40)], {"reduction": "mean"},
     lambda h, x, y: h.out(h.sum(((x - y) ** 2).reshape(-1)) / h.number("n", x.size))),
    ("binary_cross_entropy_with_logits", [(6, 40), (6, 40)], {}, bce_with_logits),
    ("elu", [(90,)], {}, lambda h, x: h.out(np.where(x > 0, x, np.expm1(x)))),
    ("swiglu", [(6, 40)], {}, lambda h, x: h.out(x[:, :20] / (1 + h.exp(-x[:, :20])) * x[:, 20:])),
    ("lstm_cell", [(5, 8), (5, 6), (5, 6), (24, 8), (24, 6)], {}, lstm_cell),
    ("gru_cell", [(5, 8), (5, 6), (18, 8), (18, 6)], {}, gru_cell),
    ("rope", [(3, 7, 8), (7, 4), (7, 4)], {}, rope),
    ("complex_matmul", [(6, 10, 2), (10, 5, 2)], {}, complex_matmul),
    ("conv1d", [(2, 5, 20), (6, 5, 3), (6,)], {}, conv1d),
    ("conv_transpose1d", [(2, 5, 9), (5, 4, 3), (4,)], {"stride": 2}, conv_transpose1d),
    ("avg_pool1d", [(8, 30)], {"size": 5}, avg_pool1d),
    ("interpolate", [(3, 7, 5)], {"size": [11, 8], "mode": "bilinear"}, lambda h, x: bilinear(h, x, (11, 8))),
    ("cumsum", [(4, 30)], {"axis": 1}, cumsum),
    ("prod", [(24, 12)], {"axis": 1}, lambda h, x: h.out(h.terms(x).prod(-1, dtype=F))),
    ("cumprod", [(4, 12)], {"axis": 1}, lambda h, x: h.out(np.cumprod(x, -1, dtype=F))),
    ("cummax", [(4, 30)], {"axis": 1}, lambda h, x: h.out(np.maximum.accumulate(x, -1))),
    ("sort", [(4, 30)], {"axis": 1}, lambda h, x: h.out(np.sort(x, -1, kind="stable"))),
    ("fake_quantize", [(6, 20), (20,)], {}, lambda h, x, s: h.out(np.clip(np.rint(x / s), -128, 127) * s)),
    ("select_and_scatter", [(4, 30), (4, 28)], {"size": 3}, select_and_scatter),
    ("gelu", [(90,)], {}, lambda h, x: h.out(F(0.5) * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))))),
    ("tanh", [(90,)], {}, lambda h, x: h.out(np.tanh(x))),
    ("exp", [(90,)], {}, lambda h, x: h.out(h.exp(x))),
]


def families(tool, text, seed):
    """The inputs that are drawn for a kernel, by family."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "probes"
        subprocess.run([tool, "probe", "--op", text, "--out", str(out), "--seconds", "0", "--seed", str(seed)],
                       check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "LD_PRELOAD": ""})  # the command may have a sanitizer of its own
        return {case.name: [np.load(case / f"in{i + 1}.npy") for i in range(len(list(case.glob("in*.npy"))))]
                for case in sorted(out.iterdir()) if (case / "kernel.json").exists()}


def run(kernel, steps, inputs):
    with np.errstate(all="ignore"):
        result = np.array(kernel(steps, *[F(steps.input(i, x)) for i, x in enumerate(inputs)]), F)
    result[np.isnan(result)] = np.nan  # of one sign
    return result


def measure(tool, seed, only=None):
    """(pairs, seen on normal numbers, seen on any, with a cause, false alarms)."""
    random = np.random.default_rng(seed)
    pairs = on_random = on_any = false_alarms = explained = 0
    for op, shapes, attributes, kernel in KERNELS:
        if only and op not in only:
            continue
        call = [f"x{i}[{','.join(map(str, s))}]" for i, s in enumerate(shapes)]
        text = f"{op}({', '.join(call + [f'{k}={v}' for k, v in attributes.items()])})"
        normal = [F(random.normal(size=s)) for s in shapes]
        if op == "batch_norm":
            normal[2] = np.abs(normal[2]) + F(0.1)
        drawn = {"normal": normal, **(families(tool, text, seed) if max(shapes[-1]) < 1024 else {})}
        if op == "batch_norm":
            drawn = {name: [*x[:2], np.abs(x[2]), *x[3:]] for name, x in drawn.items()}
        right = {name: run(kernel, Right(), inputs) for name, inputs in drawn.items()}

        def word(actual, name):
            verdict = check_op(actual, op, drawn[name], None, attributes)
            return ("SUSPECT" if verdict.suspicion else verdict.status), str(verdict)

        for name, result in right.items():
            if (verdict := word(result, name))[0] in ("FAIL", "SUSPECT", "UNUSABLE"):
                false_alarms += 1
                print(f"{text}: right on {name}, but {verdict[1]}")
        long = max(shapes[-1]) >= 128
        for fault_name, steps in {**FAULTS, **(NARROW_FAULTS if long else {})}.items():
            made = {name: run(kernel, steps, inputs) for name, inputs in drawn.items()}
            changed = [name for name in drawn if made[name].tobytes() != right[name].tobytes()]
            if not changed:
                continue
            pairs += 1
            words = {}
            for name in changed:
                words[name] = word(made[name], name)
                if words[name][0] in ("FAIL", "SUSPECT"):
                    on_any += 1
                    on_random += name == "normal"
                    explained += " legal if" in words[name][1] or " explained if" in words[name][1] or \
                        "each " in words[name][1]
                    break
            else:
                print(f"{text}: {fault_name}: {', '.join(f'{name} {w[0]}' for name, w in words.items())}")
    return pairs, on_random, on_any, explained, false_alarms


def without_last(count):
    return fault(terms=lambda self, x: x[..., :-count] if x.shape[-1] > count else x)


def without_remainder(block):
    return fault(terms=lambda self, x: x[..., :x.shape[-1] // block * block])


def unshifted(h, x):
    e = h.exp(x)
    return h.out(e / h.sum(e)[..., None])


def tf32(x): return (np.ascontiguousarray(x, F).view(np.uint32) + 0xFFF + (x.view(np.uint32) >> 13 & 1) & np.uint32(0xFFFFE000)).view(F)


# Planted faults and what the cause must say. Without a comma-separated list of kernels: of all in CAUSED.
CAUSED = [("softmax", [(6, 1000)], {}, softmax), ("mean", [(24, 1000)], {"axis": 1}, mean), ("layer_norm", [(6, 200), (200,), (200,)], {}, layer_norm),
          ("matmul", [(12, 200), (200, 10)], {}, lambda h, a, b: h.out(h.dot(a, b)))]
PLANTED = {
    **{f"last {n} terms missing": (without_last(n), rf"last ({n} terms|term) of each sum", "") for n in (1, 2, 8, 32)},
    "remainder of 64 missing": (without_remainder(64), r"last \d+ terms of each sum", ""), "first term missing": (fault(terms=without(0)), "first term of each sum", ""),
    "factors in TF32": (fault(dot=lambda self, a, b: self.sum(tf32(a)[..., :, None, :] * tf32(np.swapaxes(b, -1, -2))[..., None, :, :])), "TF32", "matmul"),
    "factors in bfloat16": (fault(dot=lambda self, a, b: self.sum(bf16(a)[..., :, None, :] * bf16(np.swapaxes(b, -1, -2))[..., None, :, :])), "bfloat16", "matmul"),
    "products in bfloat16": (fault(dot=lambda self, a, b: self.sum(bf16(a[..., :, None, :] * np.swapaxes(b, -1, -2)[..., None, :, :]))), "bfloat16|TF32", "matmul"),
    "sums in bfloat16": (fault(sum=in_sequence(bf16)), "accumulator is|(stored as|order in) bfloat16", ""), "sums in float16": (fault(sum=in_sequence(f16)), "accumulator is|(stored as|order in) float16", ""),
    "n - 1": (number_is("n", lambda n: n - 1), r"constant \d+\.0 is \d+\.0|times the right one", "mean layer_norm"), "no eps": (number_is("eps", lambda x: 0), "constant .* is 0.0", "layer_norm"),
    "x in bfloat16": (at_input(0, bf16), "rounded to bfloat16", ""), "result in float16": (fault(out=lambda self, y: f16(y)), "result is rounded to float16", ""),
    "not written": (flat(last_rows_zero), "wrong element is 0.0; wrong are all from", ""), "no maximum subtracted": (None, "unshifted", "softmax"),
}


def measure_causes(seeds):
    """{fault: [named, another cause, none, not seen]}"""
    counts = {}
    for seed in range(1, seeds + 1):
        random = np.random.default_rng(seed)
        for op, shapes, attributes, kernel in CAUSED:
            inputs = [F(random.normal(0.2, 1, s)) for s in shapes]
            for name, (steps, pattern, only) in PLANTED.items():
                if only and op not in only.split():
                    continue
                given = [inputs[0] * F({"no maximum subtracted": 40, "no eps": 0.01}.get(name, 1)), *inputs[1:]]
                actual = run(unshifted, Right(), given) if steps is None else run(kernel, steps, given)
                verdict = check_op(actual, op, given, None, attributes)
                if verdict.status != "FAIL":
                    kind = 3
                elif re.search(pattern, str(verdict)):
                    kind = 0
                else:
                    kind = 1 if re.search("legal if|explained if|each (result|wrong)", str(verdict)) else 2
                if kind in (1, 2) and seed == 1:
                    print(f"{op}, {name}: {str(verdict).split('; ', 1)[1]}")
                counts.setdefault(name, [0, 0, 0, 0])[kind] += 1
    return counts


class AnyOrder(Right):
    """A sound device: sums in an order of its own, with or without float64, exp as exp2, division as a product."""
    def __init__(self, random):
        self.random, self.size = random, int(2 ** random.integers(0, 7))
        self.how, self.late, self.wide = random.integers(0, 5), random.integers(0, 2), random.integers(0, 4) == 0
        self.exp = (lambda x: np.exp2(F(x * F(1.4426950408889634)))) if random.integers(0, 3) == 0 else np.exp

    def sum(self, x, axis=-1):
        x = np.moveaxis(x, axis, -1)
        if self.wide:
            return F(x.sum(-1, dtype=np.float64))
        if self.how == 0:
            x = x[..., ::-1]
        if self.how == 1:
            x = x[..., self.random.permutation(x.shape[-1])]
        if self.how == 2:  # in lanes
            return np.add.accumulate(np.stack([np.add.accumulate(x[..., i::self.size], -1, dtype=F)[..., -1]
                                               for i in range(min(self.size, x.shape[-1]))], -1), -1, dtype=F)[..., -1]
        if self.how == 3:  # as NumPy
            return np.ascontiguousarray(x).sum(-1, dtype=F)
        return np.add.accumulate(x, -1, dtype=F)[..., -1]

    def attention(self, q, k, v):
        scores = F(self.dot(q, k.T) * F(1 / math.sqrt(q.shape[-1])))
        e = F(self.exp(F(scores - scores.max(-1)[..., None])))
        total = self.sum(e)[..., None]
        return self.dot(e, v) / total if self.late else self.dot(e / total if self.size % 3 else e * (F(1) / total), v)


def legal_attention(count, seed):
    """How many of so many results of sound devices are FAIL or SUSPECT."""
    random, wrong = np.random.default_rng(seed), []
    for i in range(count):
        keys, d, value = int(random.integers(64, 97)), int(random.integers(2, 17)), int(random.integers(33, 49))
        kinds = [lambda s: random.normal(0, 1, s), lambda s: random.uniform(0, 1, s), lambda s: random.integers(-3, 4, s) / 10,
                 lambda s: np.sort(random.normal(0, 1, s), 0), lambda s: random.normal(1, 0.01, s),
                 lambda s: random.normal(0, 1, s) * 2.0 ** random.integers(-6, 6, s)]
        arrays = [F(kinds[random.integers(0, len(kinds))](s)) for s in ((8, d), (keys, d), (keys, value))]
        verdict = check_op(AnyOrder(random).attention(*arrays), "attention", arrays, None, {})
        if verdict.suspicion or not verdict.legal:
            wrong.append(f"{i}: {verdict}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--touchstone")
    parser.add_argument("--only", help="kernels, separated by commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--legal", type=int, help="judge so many results of sound attention instead")
    parser.add_argument("--causes", type=int, help="count the causes named for planted faults, on inputs of so many seeds")
    args = parser.parse_args()
    if args.causes:
        counts = measure_causes(args.causes)
        for name, row in {**counts, "all": [sum(c) for c in zip(*counts.values())]}.items():
            print(f"{name}: {row[0]} named, {row[1]} with another cause, {row[2]} without, {row[3]} not FAIL")
        return 0
    if args.legal:
        wrong = legal_attention(args.legal, args.seed)
        print("\n".join(wrong[:5]), f"{len(wrong)} of {args.legal} FAIL or SUSPECT", sep="\n")
        return 1 if wrong else 0
    pairs, on_random, on_any, explained, false_alarms = measure(
        args.touchstone, args.seed, args.only.split(",") if args.only else None)
    print(f"{pairs} pairs: {on_random} seen on normal numbers, {on_any} with probes ({on_any / pairs:.1%}), "
          f"{explained} with a cause; {false_alarms} false alarms")
    return 1 if false_alarms else 0


if __name__ == "__main__":
    sys.exit(main())
