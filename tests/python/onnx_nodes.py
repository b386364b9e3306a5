"""Named definitions for the operators of ONNX: operator -> a formula, or a function of the node that returns one.

A formula names the node's inputs A, B, C, ...; a tuple has one for each output (None: not judged). A function returns
None for a case that no definition covers.
"""
import math

import numpy as np

NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
WORDS = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16", 11: "f64",
         12: "u32", 13: "u64", 16: "bf16"}  # TensorProto.DataType


class Node:
    """attributes: a dict; x, out: arrays or None; types, out_types: TensorProto.DataType of each."""
    def __init__(self, attributes, x, types, out, out_types):
        self.attributes, self.x, self.types, self.out, self.out_types = attributes, x, types, out, out_types
        self.shape = x[0].shape if x and x[0] is not None else ()
        self.rank = len(self.shape)

    def __call__(self, name, default=None):
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def has(self, i): return i < len(self.x) and self.x[i] is not None
    def ints(self, i): return [int(v) for v in self.x[i].reshape(-1)] if self.has(i) else None
    def names(self, begin=0): return [NAMES[i] for i in range(begin, len(self.x)) if self.has(i)]
    def type(self, i=0): return WORDS[self.types[i]]
    def axis(self, default=-1): return self("axis", default) % self.rank

    def tensor(self, name):
        from onnx import numpy_helper
        return numpy_helper.to_array(self.attributes[name]) if name in self.attributes else np.zeros(1, np.float32)

    def const(self, array, word="i64"):
        """The name of one more input."""
        self.x.append(np.asarray(array))
        self.types.append(next(t for t, w in WORDS.items() if w == word))
        return NAMES[len(self.x) - 1]


def reshaped(x, shape): return f"reshape({x}, shape={list(shape)})"
def permuted(x, order): return f"permute({x}, order={list(order)})"
def sliced(x, begin, end): return f"slice({x}, begin={list(begin)}, end={list(end)})"
def nested(f, names): return names[0] if len(names) == 1 else f"{f}({nested(f, names[:-1])}, {names[-1]})"
def each(f): return lambda n: nested(f, n.names())
def on_axis(f, default=-1): return lambda n: f"{f}({', '.join(n.names())}, axis={n.axis(default)})"
def given(text, **defaults): return lambda n: text.format(**{k: n(k, v) for k, v in {**n.attributes, **defaults}.items()})
def spatial(text): return lambda n: text.format(list(range(2, n.rank)))
def difference(x, zero): return f"(cast({x}, i32) - cast({zero}, i32))"


def moved(x, rank, source, to):
    """x with the axis `source` at `to`."""
    order = [i for i in range(rank) if i != source]
    return permuted(x, order[:to] + [source] + order[to:])


def reduced(text):
    """`text` over axes, an attribute or input B, with keep."""
    def row(n):
        axes = n("axes") or n.ints(1) or ([] if n("noop_with_empty_axes") else range(n.rank))
        return text.format(f"axis={[a % n.rank for a in axes]}, keep={n('keepdims', 1)}") if axes else "A"
    return row


def log_sum_exp(n):
    axes = [a % n.rank for a in n("axes", range(n.rank))]
    kept = [i for i in range(n.rank) if i not in axes]
    rows = reshaped(permuted("A", kept + axes), [n.shape[i] for i in kept] + [-1])
    return reshaped(f"logsumexp({rows})", n.out[0].shape)


def cast(to):
    cut = "bitcast(cast(shift_right_logical(bitcast(A, u32), 16), u16), bf16)"
    return lambda n: cut if n("truncates") else f"cast(A, {to(n)})"


def power(n):
    if n.type(0) == n.type(1) and n.type()[0] == "f":
        return "pow(A, B)"
    text = "pow(cast(A, {0}), cast(B, {0}))".format("f32" if n.type() == "f32" else "f64")
    return text if n.type() == "f32" else f"cast(round({text}), {n.type()})"


def layer_norm(n):
    inner, eps = math.prod(n.shape[n.axis():]), n("epsilon", 1e-5)
    rows, weights = reshaped("A", [-1, inner]), "".join(f", {reshaped(w, [inner])}" for w in n.names(1))
    texts = f"layer_norm({rows}{weights}, eps={eps})", f"mean({rows}, axis=1)", f"rsqrt(var({rows}, axis=1) + {eps})"
    return tuple(reshaped(text, o.shape) for text, o in zip(texts, n.out))


def batch_norm(n):
    eps, m, training = n("epsilon", 1e-5), n("momentum", 0.9), n("training_mode", 0)
    mean, var = (f"{f}(A, axis={[i for i in range(n.rank) if i != 1]})" if training else x for f, x in (("mean", "D"), ("var", "E")))
    return f"batch_norm(A, {mean}, {var}, B, C, eps={eps})", f"D * {m} + {mean} * (1 - {m})", f"E * {m} + {var} * (1 - {m})"


def lrn(n):
    size, last = n("size"), moved("A * A", n.rank, 1, n.rank - 1)
    windows = f"windows(pad({last}, before=[{(size - 1) // 2}], after=[{size // 2}]), size=[{size}])"
    total = moved(f"sum({windows}, axis=-1)", n.rank, n.rank - 1, 1)
    return f"A / pow({n('bias', 1.0)} + {n('alpha', 0.0001)} / {size} * {total}, {n('beta', 0.75)})"


def einsum(n):
    return {"...ii->...i": f"sum(A * one_hot(arange(size={n.shape[-1]}), classes={n.shape[-1]}, dtype=f64), axis=-1)",
            "bij,bjk->bik": "A @ B", "i,i": "sum(A * B)", "ij->i": "sum(A, axis=1)", "ij->ji": "transpose(A)",
            }.get(n("equation").replace(" ", ""))


def windowed(n, size, call, x="A", outside=0):
    """call(x, padding, steps); if padding differs at the two ends of an axis, x is padded first."""
    axes, stride, auto = len(size), n("strides", [1] * len(size)), n("auto_pad", "NOTSET")
    dilation, pads = n("dilations", [1] * axes), n("pads", [0] * 2 * axes)
    before, after = pads[:axes], pads[axes:]
    if auto.startswith("SAME"):
        total = [max((-(-x // s) - 1) * s + (k - 1) * d + 1 - x, 0) for x, s, k, d in zip(n.shape[2:], stride, size, dilation)]
        before = [(t + (auto == "SAME_LOWER")) // 2 for t in total]
        after = [t - b for t, b in zip(total, before)]
    if before != after:
        x, before = f"pad({x}, before={before}, after={after}, value={outside})", [0] * axes
    return call(x, before, f"stride={stride}, dilation={dilation}")


def conv(n, x="A", w="B", bias=2, weight=1):
    b = f", {NAMES[bias]}" if n.has(bias) else ""
    return windowed(n, n.x[weight].shape[2:], lambda x, padding, steps: f"conv{n.rank - 2}d({x}, {w}{b}, padding={padding}, "
                    f"{steps}, groups={n('group', 1)})", x)


def conv_transpose(n):
    """The whole result, then a part of it; padding by the specification's equations if output_shape or auto_pad is given."""
    axes, auto = n.rank - 2, n("auto_pad", "NOTSET")
    stride, dilation, more = n("strides", [1] * axes), n("dilations", [1] * axes), n("output_padding", [0] * axes)
    whole = [s * (x - 1) + o + (k - 1) * d + 1 for s, x, o, k, d in zip(stride, n.shape[2:], more, n.x[1].shape[2:], dilation)]
    out, pads = n("output_shape"), n("pads", [0] * 2 * axes)
    if auto.startswith("SAME"):
        out = [x * s for x, s in zip(n.shape[2:], stride)]
    if out:
        more = [m + max(o - w, 0) for m, w, o in zip(more, whole, out)]  # whole is smaller: zeros at the end
        total = [max(w - o, 0) for w, o in zip(whole, out)]
        begin = [t // 2 if auto == "SAME_UPPER" else t - t // 2 for t in total]
        pads, out = begin, [b + o for b, o in zip(begin, out)]
    text = (f"conv_transpose{axes}d({', '.join(n.names())}, stride={stride}, output_padding={more}, dilation={dilation}, "
            f"groups={n('group', 1)})")
    return sliced(text, pads[:axes], out or [w - p for w, p in zip(whole, pads[axes:])])


def average_pool(n):
    size, padded = n("kernel_shape"), n("count_include_pad", 0)
    def call(x, padding, steps):
        if x == "A" and (padded or all(2 * p <= k for p, k in zip(padding, size))):  # else beyond PyTorch's limit
            return (f"avg_pool{n.rank - 2}d(A, size={size}, padding={padding}, stride={n('strides', [1] * len(size))}, "
                    f"ceil_mode={n('ceil_mode', 0)}, count_include_pad={padded})")
        x = f"pad(A, before={padding}, after={padding})" if x == "A" else x
        sums = f"sum(windows({x}, size={size}, {steps}), axis={list(range(n.rank, n.rank + len(size)))})"
        return f"{sums} / {math.prod(size) if padded else sums.replace('A', 'cast(A == A, f32)')}"  # of elements that are not padding
    return windowed(n, size, call)


def max_pool(n):
    x, whole, planes = "cast(A, f32)" if n.type() == "u8" else "A", n.shape[2:], math.prod(n.shape[:2])
    values, index = (windowed(n, n("kernel_shape"), lambda x, padding, steps: f"max_pool{n.rank - 2}d{which}({x}, padding={padding}, "
                              f"size={n('kernel_shape')}, {steps}, ceil_mode={n('ceil_mode', 0)})", x, "-inf") for which in ("", "_index"))
    if n("storage_order", 0):
        index = f"{index} % {whole[1]} * {whole[0]} + {index} / {whole[1]}"
    first = reshaped(f"arange(size={planes}, dtype=i64) * {math.prod(whole)}", [*n.shape[:2]] + [1] * len(whole))
    return f"cast({values}, u8)" if n.type() == "u8" else values, f"{index} + {first}"


def cum_sum(n):
    axis = int(n.x[1]) % n.rank
    def turned(x): return f"flip({x}, axis={axis})" if n("reverse", 0) else x
    text = f"cumsum({turned('A')}, axis={axis})"
    if n("exclusive", 0):
        first = [int(i == axis) for i in range(n.rank)]
        text = f"pad({sliced(text, [0] * n.rank, np.subtract(n.shape, first).tolist())}, before={first}, after={[0] * n.rank})"
    return turned(text)


def scatter(name):
    return lambda n: f"{name}(A, B, C{f', axis={n.axis(0)}' if name == 'scatter' else ''}, reduce={n('reduction', 'none')})"


def one_hot(n):
    depth = n.ints(1)[0]
    hot = f"one_hot(cast(where(A < 0, A + {depth}, A), i64), classes={depth}, dtype=bool)"
    off, on = (reshaped(sliced("C", [i], [i + 1]), []) for i in (0, 1))
    return f"where({moved(hot, n.rank + 1, n.rank, n('axis', -1) % (n.rank + 1))}, {on}, {off})"


def pad(n):
    return (f"pad(A, before={n.ints(1)[:n.rank]}, after={n.ints(1)[n.rank:]}, mode={n('mode', 'constant')}"
            + (", value=C)" if n.has(2) and n("mode", "constant") == "constant" else ")"))


def slices(n):
    starts, ends, axes, steps = (n.ints(i) for i in (1, 2, 3, 4))
    begin, end, step = [0] * n.rank, list(n.shape), [1] * n.rank
    for i, axis in enumerate(axes or range(len(starts))):
        places = range(n.shape[axis])[starts[i]:ends[i]:steps[i] if steps else 1]
        step[axis], begin[axis] = places.step, min(places, default=0)
        end[axis] = max(places, default=-1) + 1
    return f"stride({sliced('A', begin, end)}, steps={step})"


def split(n):
    ends = np.cumsum([o.shape[n.axis(0)] for o in n.out])
    def at(value, sizes): return [int(value) if i == n.axis(0) else s for i, s in enumerate(sizes)]
    return tuple(sliced("A", at(end - o.shape[n.axis(0)], [0] * n.rank), at(end, n.shape)) for end, o in zip(ends, n.out))


def squeeze(n):
    axes = [a % n.rank for a in n("axes") or n.ints(1) or [i for i, s in enumerate(n.shape) if s == 1]]
    return reshaped("A", [s for i, s in enumerate(n.shape) if i not in axes])


def unsqueeze(n):
    axes, sizes = n("axes") or n.ints(1), iter(n.shape)
    rank = n.rank + len(axes)
    return reshaped("A", [1 if i in [a % rank for a in axes] else next(sizes) for i in range(rank)])


def resize_weights(n, axis, size, scale, roi):
    """(size, elements): what each element counts, by the specification's equations; a row of NaN is outside."""
    length, kind, how = n.shape[axis], n("mode", "nearest"), n("coordinate_transformation_mode", "half_pixel")
    i, start, end = np.arange(size), roi[axis], roi[axis + n.rank]
    crop = start * (length - 1) + i * (end - start) * (length - 1) / (size - 1) if size > 1 else (start + end) * (length - 1) / 2 + 0 * i
    x = {"half_pixel": (i + 0.5) / scale - 0.5, "pytorch_half_pixel": (i + 0.5) / scale - 0.5 if size > 1 else 0.0 * i, "asymmetric": i / scale,
         "align_corners": i * (length - 1) / max(size - 1, 1), "tf_crop_and_resize": crop}[how][:, None]
    if kind == "nearest":
        near = {"round_prefer_floor": np.ceil(x - 0.5), "round_prefer_ceil": np.floor(x + 0.5), "floor": np.floor(x),
                "ceil": np.ceil(x)}[n("nearest_mode", "round_prefer_floor")]
        weights = (np.clip(near, 0, length - 1) == np.arange(length)) * 1.0
    else:
        taps = np.floor(x) + np.arange(-2, 4)
        d, a = np.abs(x - taps), n("cubic_coeff_a", -0.75)
        w = np.where(d < 1, ((a + 2) * d - a - 3) * d * d + 1, np.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0)) \
            if kind == "cubic" else np.maximum(1 - d, 0)
        if n("exclude_outside", 0):
            w = np.where((taps < 0) | (taps > length - 1), 0, w)
            w /= w.sum(1, keepdims=True)
        weights = (w[:, :, None] * (np.clip(taps, 0, length - 1)[:, :, None] == np.arange(length))).sum(1)
    return np.where((how == "tf_crop_and_resize") & ((x < 0) | (x > length - 1)), np.nan, weights)


def resize(n):
    """interpolate where it has the coordinates, which are PyTorch's of sizes alone; else products with weights."""
    scales = next((v for v in n.x[1:] if v is not None and v.shape == (n.rank,) and v.dtype == np.float32), None)
    out = n.ints(3) or [float(size) * float(scale) for size, scale in zip(n.shape, scales)]
    kind, corners = n("mode", "nearest"), n("coordinate_transformation_mode", "half_pixel") == "align_corners"
    ties = any((2 * i + 1) * size % (2 * o) == 0 for size, o in zip(n.shape, out) for i in range(int(o)))  # nearest_exact rounds up
    mode = {"linear": "bilinear", "cubic": "bicubic", "nearest": None if ties or corners else "nearest_exact"}[kind]
    if mode and n("coordinate_transformation_mode", "half_pixel") in ("half_pixel", "align_corners") and not n("exclude_outside", 0) and \
            n("nearest_mode", "round_prefer_floor") == "round_prefer_floor" and (corners or all(int(o) == o for o in out)):
        return f"interpolate(A, size={[int(o) for o in out[2:]]}, mode={mode}, align_corners={int(corners)})"
    text, roi = "cast(A, f64)", n.x[1].astype(float) if n.has(1) and n.x[1].size else [0] * n.rank + [1] * n.rank
    scales, outside = scales if scales is not None else np.divide(out, n.shape), np.zeros(n.out[0].shape, bool)
    for axis, size in enumerate(n.out[0].shape):
        weights = resize_weights(n, axis, size, float(scales[axis]), roi)
        outside |= np.isnan(weights[:, 0]).reshape([-1] + [1] * (n.rank - 1 - axis))
        if size != n.shape[axis] or not np.array_equal(weights, np.eye(size)):
            text = moved(f"({moved(text, n.rank, axis, n.rank - 1)} @ {n.const(np.nan_to_num(weights).T, 'f64')})", n.rank, n.rank - 1, axis)
    return f"where({n.const(outside, 'bool')}, {n('extrapolation_value', 0.0)}, cast({text}, f32))"


def dynamic_quantize(n):
    scale = "(maximum(max(A), 0) - minimum(min(A), 0)) / 255"
    zero = f"cast(clamp(round(0 - minimum(min(A), 0) / ({scale})), low=0, high=255), u8)"
    return f"quantize(A, {reshaped(scale, [])}, {reshaped(zero, [])})", scale, zero


def quantized(product):
    """Integer products times the scales, quantized by those of the output."""
    return lambda n: f"quantize(cast({product(n)}, f32) * (B * E), G, H, to={WORDS[n.out_types[0]]})"


def recurrent(order, cell):
    """Steps of one direction: cell(n, "x, h", c, weights) -> (h, c). The cell has the gates of ONNX in this order."""
    def row(n):
        size, batch_first = n("hidden_size"), n("layout", 0)
        (steps, batch), inputs = n.shape[1::-1] if batch_first else n.shape[:2], n.shape[2]
        def gates(x, columns, begin=0):
            return nested("concat", [sliced(reshaped(x, [-1, *columns]), [begin + g * size] + [0] * len(columns),
                                            [begin + (g + 1) * size, *columns]) for g in order])
        weights = [gates("B", [inputs]), gates("C", [size])]
        weights += [gates("D", []), gates("D", [], len(order) * size)] if n.has(3) else []
        h, c = (reshaped(NAMES[i], [batch, size]) if n.has(i) else n.const(np.zeros((batch, size), np.float32), "f32") for i in (5, 6))
        for t in range(steps):
            begin, end = ([0, t, 0], [batch, t + 1, inputs]) if batch_first else ([t, 0, 0], [t + 1, batch, inputs])
            h, c = cell(n, f"{reshaped(sliced('A', begin, end), [batch, inputs])}, {h}", c, ", ".join(weights))
        return None if n.has(7) else tuple(reshaped(h, o.shape) if steps == 1 or o.ndim == 3 else None for o in n.out)
    return row


def window(*terms):
    """The sum of a_k cos(2 pi k i / n)."""
    def row(n):
        size = n.ints(0)[0]
        angle = f"arange(size={size}, dtype=f32) * {2 * n('pi', math.pi) / (size if n('periodic', 1) else size - 1)}"
        return f"{terms[0]}" + "".join(f" + cos({k} * ({angle})) * {a}" for k, a in enumerate(terms) if k)
    return row


def optimizer(step):
    """Inputs R, T, then each of X, G and the states for all tensors; step(n, x, g, *states) -> (X, *states), g with its regularization."""
    def row(n):
        count = len(n.x) - 2 - len(n.out)
        names = [NAMES[2 + i::count][:(len(n.x) - 2) // count] for i in range(count)]
        new = [step(n, x, f"({g} + {n('norm_coefficient', 0.0)} * {x})", *states) for x, g, *states in names]
        return tuple(texts[k] for k in range(len(new[0])) for texts in new)
    return row


def momentum(n, x, g, v):
    beta = n("beta") if n.ints(1)[0] > 0 else 1.0
    v = f"({n('alpha')} * {v} + {beta} * {g})"
    return f"{x} - A * " + (v if n("mode") == "standard" else f"({g} + {n('alpha')} * {v})"), v


def adagrad(n, x, g, h):
    h = f"({h} + {g} * {g})"
    return f"{x} - A / {1 + n.ints(1)[0] * n('decay_factor', 0.0)} * {g} / (sqrt({h}) + {n('epsilon', 1e-6)})", h


def adam(n, x, g, v, h):
    a, b, t = n("alpha", 0.9), n("beta", 0.999), n.ints(1)[0]
    v, h = f"({a} * {v} + {1 - a} * {g})", f"({b} * {h} + {1 - b} * ({g} * {g}))"
    rate = f"A * {math.sqrt(1 - b**t) / (1 - a**t) if t > 0 else 1.0}"
    return f"({x} - {rate} * {v} / (sqrt({h}) + {n('epsilon', 1e-6)})) * {1 - n('norm_coefficient_post', 0.0)}", v, h


def det(n):
    def at(i, j): return reshaped(sliced("A", [i, j], [i + 1, j + 1]), n.shape[:-2])
    return f"{at(0, 0)} * {at(1, 1)} - {at(0, 1)} * {at(1, 0)}" if n.shape[-2:] == (2, 2) else None


def max_unpool(n):
    """Positions count in the size that the pool's windows give; output_shape adds to its ends."""
    pads, axes = n("pads", [0] * 2 * (n.rank - 2)), n.rank - 2
    h, w = [(x - 1) * s + k - a - b for x, s, k, a, b in zip(n.shape[2:], n("strides", [1] * axes), n("kernel_shape"), pads, pads[axes:])]
    whole, zeros = n.out[0].shape[2:], n.const(np.zeros(n.out[0].size, np.float32), "f32")
    place = f"B / {h * w} * {whole[0] * whole[1]} + B % {h * w} / {w} * {whole[1]} + B % {w}"
    return reshaped(f"scatter({zeros}, {reshaped(place, [-1])}, {reshaped('A', [-1])})", n.out[0].shape)


def class_loss(name):
    def row(n):
        ignored = f", ignore_index={n('ignore_index')}" if n("ignore_index") is not None else ""
        return f"{name}(A, B{', weight=C' if n.has(2) else ''}{ignored}, reduction={n('reduction', 'mean')})", "log_softmax(A, axis=1)"
    return row


def dropout(n):
    if not n.has(2) or not n.x[2]:
        return "A", "A == A"
    kept = n.const(n.out[1], "bool") if len(n.out) > 1 else None if n.x[1] else "A == A"
    return f"dropout(A, {kept}, p={float(n.x[1])})" if kept else None  # without the mask, the kept ones are unknown


def dft(n):
    x = "A" if n.shape[-1] == 2 else "pad(A, before=[0], after=[1])"
    text = f"transpose({'i' * n('inverse', 0)}dft(transpose({x}, a={n.axis(1)}, b=-2)), a={n.axis(1)}, b=-2)"
    return None if n("onesided", 0) else text


def stft(n):
    size, out = n.x[2].size if n.has(2) else n.ints(3)[0], n.out[0].shape
    frames = f"windows({reshaped('A', n.shape[:2])}, size=[{size}], stride=[{n.ints(1)[0]}]){' * C' * n.has(2)}"
    return sliced(f"dft(pad({reshaped(frames, [*out[:2], size, 1])}, before=[0], after=[1]))", [0, 0], out[2:])


ROWS = {
    **{name: f"{name.lower()}(A)" for name in
       "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Log Relu Round Sigmoid Sign Sin Sinh Softplus "
       "Softsign Sqrt Tan Tanh Mish".split()},
    "Identity": "A", "Neg": "-A", "Not": "bit_not(A)", "Reciprocal": "recip(A)", "IsNaN": "A != A",
    "IsInf": lambda n: "bit_or(A == {}, A == -{})".format(*("inf" if n(f"detect_{sign}", 1) else "nan" for sign in ("positive", "negative"))),
    "Add": "A + B", "Sub": "A - B", "Mul": "A * B", "Div": "A / B", "Pow": power,
    "Mod": lambda n: "A % B" if n("fmod", 0) else "remainder(A, B)",
    "And": "bit_and(A, B)", "Or": "bit_or(A, B)", "Xor": "xor(A, B)",
    "BitShift": lambda n: f"shift_{'left' if n('direction') == 'LEFT' else 'right_logical'}(A, B)",
    "Equal": "A == B", "Less": "A < B", "LessOrEqual": "A <= B", "Greater": "A > B", "GreaterOrEqual": "A >= B",
    "Where": "where(A, B, C)", "Max": each("maximum"), "Min": each("minimum"), "Sum": each("add"),
    "Clip": lambda n: f"clamp(A{', low=B' * n.has(1)}{', high=C' * n.has(2)})",
    "Mean": lambda n: f"{nested('add', n.names())} / {len(n.x)}",
    "Cast": cast(lambda n: WORDS[n("to")]), "CastLike": cast(lambda n: n.type(1)),

    "Elu": given("elu(A, alpha={alpha})", alpha=1.0), "Celu": given("celu(A, alpha={alpha})", alpha=1.0),
    "Selu": lambda n: f"elu(A, alpha={n('alpha')}) * {n('gamma')}" if n.attributes else "selu(A)",
    "LeakyRelu": given("leaky_relu(A, slope={alpha})", alpha=0.01), "PRelu": "where(A < 0, A * B, A)",
    "HardSigmoid": given("clamp(A * {alpha} + {beta}, 0, 1)", alpha=0.2, beta=0.5),
    "HardSwish": "hardswish(A)",
    "ThresholdedRelu": given("thresholded_relu(A, alpha={alpha})", alpha=1.0),
    "Shrink": given("shrink(A, lambd={lambd}, bias={bias})", lambd=0.5, bias=0.0),
    "HannWindow": window(0.5, -0.5), "HammingWindow": window(25 / 46, -21 / 46), "BlackmanWindow": window(0.42, -0.5, 0.08),
    "Momentum": optimizer(momentum), "Adagrad": optimizer(adagrad), "Adam": optimizer(adam),

    "ReduceSum": reduced("sum(A, {})"), "ReduceMean": reduced("mean(A, {})"), "ReduceMax": reduced("max(A, {})"),
    "ReduceMin": reduced("min(A, {})"), "ReduceProd": reduced("prod(A, {})"), "ReduceL1": reduced("l1_norm(A, {})"),
    "ReduceL2": reduced("l2_norm(A, {})"), "ReduceSumSquare": reduced("sum(A * A, {})"),
    "ReduceLogSum": reduced("log(sum(A, {}))"), "ReduceLogSumExp": log_sum_exp, "CumSum": cum_sum,
    **{f"Arg{m}": lambda n, m=m.lower(): f"arg{m}(A, axis={n.axis(0)}, keep={n('keepdims', 1)}, last={n('select_last_index', 0)})"
       for m in ("Max", "Min")},
    "TopK": lambda n: tuple(f"{f}(A, k={n.ints(1)[0]}, axis={n.axis()}, largest={n('largest', 1)})" for f in ("top_k", "top_k_index")),

    "Softmax": on_axis("softmax"), "LogSoftmax": on_axis("log_softmax"),
    "Hardmax": on_axis("hardmax"), "Det": det,
    "LayerNormalization": layer_norm, "BatchNormalization": batch_norm, "LRN": lrn,
    "MeanVarianceNormalization": given("mean_variance_normalization(A, axis={axes})", axes=[0, 2, 3]),
    "InstanceNormalization": given("instance_norm(A, B, C, eps={epsilon})", epsilon=1e-5),
    "NegativeLogLikelihoodLoss": class_loss("nll_loss"), "SoftmaxCrossEntropyLoss": class_loss("cross_entropy"),

    "Gemm": lambda n: (f"matmul(A, B, transpose_a={n('transA', 0)}, transpose_b={n('transB', 0)}) * {n('alpha', 1.0)}"
                       + f" + C * {n('beta', 1.0)}" * n.has(2)),
    "MatMul": "A @ B", "Einsum": einsum, "MatMulInteger": f"{difference('A', 'C')} @ {difference('B', 'D')}",
    "Conv": conv, "ConvTranspose": conv_transpose, "AveragePool": average_pool, "MaxPool": max_pool,
    "ConvInteger": lambda n: conv(n, difference("A", "C"), difference("B", "D") if n.has(3) else "cast(B, i32)", 99),
    "GlobalAveragePool": spatial("mean(A, axis={}, keep=1)"), "GlobalMaxPool": spatial("max(A, axis={}, keep=1)"),
    "Resize": resize, "Upsample": resize, "Dropout": dropout, "DFT": dft, "STFT": stft,
    "RNN": recurrent([0], lambda n, xh, c, w: (f"rnn_cell({xh}, {w})", c)),
    "GRU": recurrent([1, 0, 2], lambda n, xh, c, w: (f"gru_cell({xh}, {w}, linear_before_reset={n('linear_before_reset', 0)})", c)),
    "LSTM": recurrent([0, 2, 3, 1], lambda n, xh, c, w: (f"lstm_cell({xh}, {c}, {w})", f"lstm_cell_c({xh}, {c}, {w})")),

    "QuantizeLinear": lambda n: f"quantize({', '.join(n.names())}, axis={n('axis', 1)})",
    "DequantizeLinear": lambda n: f"dequantize({', '.join(n.names())}, axis={n('axis', 1)})", "DynamicQuantizeLinear": dynamic_quantize,
    "QLinearMatMul": quantized(lambda n: f"({difference('A', 'C')} @ {difference('D', 'F')})"),
    "QLinearConv": quantized(lambda n: conv(n, difference("A", "C"), difference("D", "F"), 99, 3)),

    "Gather": on_axis("index_select", 0), "GatherElements": on_axis("take_along", 0), "GatherND": given("gather_nd(A, B, batch_dims={batch_dims})", batch_dims=0),
    "Compress": lambda n: f"index_select({'A' if 'axis' in n.attributes else 'reshape(A, shape=[-1])'}, "
                          f"{n.const(np.flatnonzero(n.x[1]))}, axis={n('axis', 0)})",
    "ScatterElements": scatter("scatter"), "Scatter": scatter("scatter"), "ScatterND": scatter("scatter_nd"),
    "OneHot": one_hot, "Trilu": lambda n: f"tri{'lu'[n('upper', 1)]}(A, diagonal={n.ints(1)[0] if n.has(1) else 0})",
    "EyeLike": lambda n: f"one_hot(arange(size={n.shape[0]}) + {n('k', 0)}, classes={n.shape[1]}, dtype={WORDS[n('dtype', n.types[0])]})",
    "Range": lambda n: f"A + C * arange(size={n.out[0].size}, dtype={n.type()})",
    "Concat": lambda n: nested("concat", n.names())[:-1] + f", axis={n.axis()})" if len(n.x) == 2 else None,
    "Pad": pad, "Slice": slices, "Split": split, "Tile": lambda n: f"tile(A, times={n.ints(1)})", "Squeeze": squeeze, "Unsqueeze": unsqueeze,
    "SpaceToDepth": given("space_to_depth(A, block={blocksize})"),
    "DepthToSpace": lambda n: f"depth_to_space(A, block={n('blocksize')}, mode={n('mode', 'DCR').lower()})",
    "ReverseSequence": given("reverse_sequence(A, B, time_axis={time_axis}, batch_axis={batch_axis})", time_axis=0, batch_axis=1),
    "GridSample": given("grid_sample(A, B, mode={mode}, padding_mode={padding_mode}, align_corners={align_corners})", mode="bilinear", padding_mode="zeros", align_corners=0),
    "RoiAlign": lambda n: f"roi_align(A, B, C, size={[n('output_height'), n('output_width')]}, scale={n('spatial_scale', 1.0)}, "
                          f"sampling_ratio={n('sampling_ratio')}, aligned={int(n('coordinate_transformation_mode', 'half_pixel') == 'half_pixel')})",
    "MaxUnpool": max_unpool, "Constant": lambda n: n.const(n.tensor("value"), WORDS[n.out_types[0]]),
    "ConstantOfShape": lambda n: f"expand({n.const(n.tensor('value'), WORDS[n.out_types[0]])}, shape={list(n.out[0].shape)})",
    "Expand": lambda n: f"expand({reshaped('A', (1,) * (n.out[0].ndim - n.rank) + n.shape)}, shape={list(np.broadcast_shapes(n.shape, n.ints(1)))})",
    "Reshape": lambda n: reshaped("A", [n.shape[i] if s == 0 and not n("allowzero", 0) else s for i, s in enumerate(n.ints(1))]),
    "Flatten": lambda n: reshaped("A", [math.prod(n.shape[:n("axis", 1)]), math.prod(n.shape[n("axis", 1):])]),
    "Transpose": lambda n: permuted("A", n("perm", range(n.rank)[::-1])),
}

# Operators without a row, and cases that a row leaves out.
REASONS = {
    "Bernoulli": "random numbers", "If": "runs a graph", "Loop": "runs a graph", "Scan": "runs a graph", "SequenceMap": "runs a graph",
    **dict.fromkeys(("SequenceInsert", "OptionalGetElement", "OptionalHasElement", "Identity"), "sequences and optional values"),
    **dict.fromkeys(("StringNormalizer", "Cast", "CastLike"), "strings"), "TfIdfVectorizer": "counts n-grams by tables of any length",
    **dict.fromkeys(("NonMaxSuppression", "NonZero", "Unique"), "the size of the result depends on the numbers"),
    "Shape": "no element is read", "Size": "no element is read", "MelWeightMatrix": "a constant of its inputs, by bins that are rounded",
    "Dropout": "random numbers, and the mask is no output", "LSTM": "peepholes: gates read the cell",
}
