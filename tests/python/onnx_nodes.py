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
def given(text, **defaults): return lambda n: text.format(**{k: n(k, v) for k, v in defaults.items()})
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
    return sliced(text, pads[:axes], out or [w - p for w, p in zip(whole, pads[axes:])]) if axes < 3 else None


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


def gather_nd(n):
    """The rows of a flat table at the sum of index * stride."""
    batch, k = n("batch_dims", 0), n.x[1].shape[-1]
    index = f"sum(B * {n.const([math.prod(n.shape[batch + i + 1:batch + k]) for i in range(k)])}, axis=-1)"
    if batch:
        first = np.arange(math.prod(n.shape[:batch])) * math.prod(n.shape[batch:batch + k])
        index += f" + {n.const(first.reshape(n.shape[:batch] + (1,) * (n.x[1].ndim - 1 - batch)))}"
    return reshaped(f"gather({reshaped('A', [math.prod(n.shape[:batch + k]), -1])}, {index})", n.out[0].shape)


def scatter(name):
    def row(n):
        reduction, axis = n("reduction", "none"), f", axis={n.axis(0)}" if name == "scatter" else ""
        return None if reduction == "mul" else f"{name}(A, B, C{axis}, reduce={reduction})"
    return row


def one_hot(n):
    depth = n.ints(1)[0]
    hot = f"one_hot(cast(where(A < 0, A + {depth}, A), i64), classes={depth}, dtype=bool)"
    off, on = (reshaped(sliced("C", [i], [i + 1]), []) for i in (0, 1))
    return f"where({moved(hot, n.rank + 1, n.rank, n('axis', -1) % (n.rank + 1))}, {on}, {off})"


def pad(n):
    before, after, text = n.ints(1)[:n.rank], n.ints(1)[n.rank:], "A"
    if n("mode", "constant") == "constant":
        return f"pad(A, before={before}, after={after}, value={'C' if n.has(2) else 0})"
    for axis, pads in enumerate(zip(before, after)):
        if any(pads):
            text = f"index_select({text}, {n.const(np.pad(np.arange(n.shape[axis]), pads, mode=n('mode')))}, axis={axis})"
    return text


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


def tile(n):
    def pairs(times): return [v for pair in zip(times, n.shape) for v in pair]
    return reshaped(f"expand({reshaped('A', pairs([1] * n.rank))}, shape={pairs(n.ints(1))})", np.multiply(n.ints(1), n.shape).tolist())


def squeeze(n):
    axes = [a % n.rank for a in n("axes") or n.ints(1) or [i for i, s in enumerate(n.shape) if s == 1]]
    return reshaped("A", [s for i, s in enumerate(n.shape) if i not in axes])


def unsqueeze(n):
    axes, sizes = n("axes") or n.ints(1), iter(n.shape)
    rank = n.rank + len(axes)
    return reshaped("A", [1 if i in [a % rank for a in axes] else next(sizes) for i in range(rank)])


def space_to_depth(n):
    k, (b, c, h, w) = n("blocksize"), n.shape
    deep = permuted(reshaped("A", [b, c, h // k, k, w // k, k]), [0, 3, 5, 1, 2, 4])
    return reshaped(deep, [b, c * k * k, h // k, w // k])


def depth_to_space(n):
    k, (b, c, h, w) = n("blocksize"), n.shape
    shape, order = ([b, c // k**2, k, k, h, w], [0, 1, 4, 2, 5, 3]) if n("mode", "DCR") == "CRD" else \
                   ([b, k, k, c // k**2, h, w], [0, 3, 4, 1, 5, 2])
    return reshaped(permuted(reshaped("A", shape), order), [b, c // k**2, h * k, w * k])


def resize(n):
    """What interpolate covers: PyTorch's coordinates of sizes alone, so that scales must give whole sizes or not matter."""
    scales = next((v for v in n.x[1:] if v is not None and v.shape == (n.rank,) and v.dtype == np.float32), None)
    out = n.ints(3) or [float(size) * float(scale) for size, scale in zip(n.shape, scales)]
    kind, corners = n("mode", "nearest"), n("coordinate_transformation_mode", "half_pixel") == "align_corners"
    ties = any((2 * i + 1) * size % (2 * o) == 0 for size, o in zip(n.shape, out) for i in range(int(o)))  # nearest_exact rounds up
    mode = {"linear": "bilinear", "cubic": "bicubic", "nearest": None if ties or corners else "nearest_exact"}[kind]
    if n("coordinate_transformation_mode", "half_pixel") not in ("half_pixel", "align_corners") or n("exclude_outside", 0) or \
            n("nearest_mode", "round_prefer_floor") != "round_prefer_floor" or not (corners or all(int(o) == o for o in out)):
        return None
    return f"interpolate(A, size={[int(o) for o in out[2:]]}, mode={mode}, align_corners={int(corners)})" if mode else None


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
    "ThresholdedRelu": given("threshold(A, threshold={alpha}, value=0)", alpha=1.0),
    "Shrink": given("where(A < -{lambd}, A + {bias}, where(A > {lambd}, A - {bias}, 0))", lambd=0.5, bias=0.0),

    "ReduceSum": reduced("sum(A, {})"), "ReduceMean": reduced("mean(A, {})"), "ReduceMax": reduced("max(A, {})"),
    "ReduceMin": reduced("min(A, {})"), "ReduceProd": reduced("prod(A, {})"), "ReduceL1": reduced("sum(abs(A), {})"),
    "ReduceL2": reduced("sqrt(sum(A * A, {}))"), "ReduceSumSquare": reduced("sum(A * A, {})"),
    "ReduceLogSum": reduced("log(sum(A, {}))"), "ReduceLogSumExp": log_sum_exp, "CumSum": cum_sum,
    **{f"Arg{m}": lambda n, m=m.lower(): f"arg{m}(A, axis={n.axis(0)}, keep={n('keepdims', 1)}, last={n('select_last_index', 0)})"
       for m in ("Max", "Min")},
    "TopK": lambda n: tuple(f"{f}(A, k={n.ints(1)[0]}, axis={n.axis()}, largest={n('largest', 1)})" for f in ("top_k", "top_k_index")),

    "Softmax": on_axis("softmax"), "LogSoftmax": on_axis("log_softmax"),
    "Hardmax": lambda n: moved(f"one_hot(argmax(A, axis={n.axis()}), classes={n.shape[n.axis()]})", n.rank, n.rank - 1, n.axis()),
    "LayerNormalization": layer_norm, "BatchNormalization": batch_norm, "LRN": lrn,
    "MeanVarianceNormalization": lambda n: "(A - {0}) / (sqrt({1} - {0} * {0}) + 1e-9)".format(
        *(f"mean({x}, axis={n('axes', [0, 2, 3])}, keep=1)" for x in ("A", "A * A"))),
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

    "QuantizeLinear": lambda n: f"quantize({', '.join(n.names())}, to={WORDS[n.out_types[0]]}, axis={n('axis', 1)})",
    "DequantizeLinear": lambda n: f"dequantize({', '.join(n.names())}, axis={n('axis', 1)})", "DynamicQuantizeLinear": dynamic_quantize,
    "QLinearMatMul": quantized(lambda n: f"({difference('A', 'C')} @ {difference('D', 'F')})"),
    "QLinearConv": quantized(lambda n: conv(n, difference("A", "C"), difference("D", "F"), 99, 3)),

    "Gather": on_axis("index_select", 0), "GatherElements": on_axis("take_along", 0), "GatherND": gather_nd,
    "Compress": lambda n: f"index_select({'A' if 'axis' in n.attributes else 'reshape(A, shape=[-1])'}, "
                          f"{n.const(np.flatnonzero(n.x[1]))}, axis={n('axis', 0)})",
    "ScatterElements": scatter("scatter"), "Scatter": scatter("scatter"), "ScatterND": scatter("scatter_nd"),
    "OneHot": one_hot, "Trilu": lambda n: f"tri{'lu'[n('upper', 1)]}(A, diagonal={n.ints(1)[0] if n.has(1) else 0})",
    "EyeLike": lambda n: f"one_hot(arange(size={n.shape[0]}) + {n('k', 0)}, classes={n.shape[1]}, dtype={WORDS[n('dtype', n.types[0])]})",
    "Range": lambda n: f"A + C * arange(size={n.out[0].size}, dtype={n.type()})",
    "Concat": lambda n: nested("concat", n.names())[:-1] + f", axis={n.axis()})" if len(n.x) == 2 else None,
    "Pad": pad, "Slice": slices, "Split": split, "Tile": tile, "Squeeze": squeeze, "Unsqueeze": unsqueeze,
    "SpaceToDepth": space_to_depth, "DepthToSpace": depth_to_space,
    "Expand": lambda n: f"expand({reshaped('A', (1,) * (n.out[0].ndim - n.rank) + n.shape)}, shape={list(np.broadcast_shapes(n.shape, n.ints(1)))})",
    "Reshape": lambda n: reshaped("A", [n.shape[i] if s == 0 and not n("allowzero", 0) else s for i, s in enumerate(n.ints(1))]),
    "Flatten": lambda n: reshaped("A", [math.prod(n.shape[:n("axis", 1)]), math.prod(n.shape[n("axis", 1):])]),
    "Transpose": lambda n: permuted("A", n("perm", range(n.rank)[::-1])),
}
