"""How PyTorch computes the definitions of beside.py, by name."""
import numpy as np
import torch
import torch.nn.functional as f

from beside import F, NUMPY, WITHOUT, called

torch.set_num_threads(1)


def tensor(v): return torch.from_numpy(np.array(v, order="C")) if isinstance(v, np.ndarray) else v
def run(function): return lambda **k: called(function, {n: tensor(v) for n, v in k.items()}).numpy()


def same(*names): return {n: getattr(torch, n) for n in names}

def reduced(g):
    def result(x, axis, keep): return g(x, axis, bool(keep))
    return result
def extreme(g): return lambda x, axis, keep: g(x, axis[0], bool(keep)) if len(axis) == 1 else g(x).reshape([1] * x.ndim if keep else [])
def cell(g, gates=()): return lambda x, h, w_ih, w_hh, b_ih, b_hh, c=None: g(x, h if c is None else (h, c), w_ih, w_hh, b_ih, b_hh)
def flat(g):
    """Cells of PyTorch take one batch axis."""
    return lambda x, h, c=None, **w: g(x.reshape(-1, x.shape[-1]), h.reshape(-1, h.shape[-1]), c=None if c is None else c.reshape(-1, h.shape[-1]), **w).reshape(h.shape)
def windowed(g, **fixed): return lambda x, size, stride, padding, **k: g(x, size, stride, padding, **k, **fixed)
def pairs(x): return torch.complex(x[..., 0], x[..., 1])
def losses(g): return lambda x, target, reduction: g(x, target, reduction=reduction)
def classed(g): return lambda x, target, weight=None, ignore_index=-100, reduction="none": g(x, target, weight, ignore_index=ignore_index, reduction=reduction)
def scattered(x, index, updates, axis, reduce):
    if reduce == "none":
        return x.scatter(axis, index, updates)
    return x.scatter_reduce(axis, index, updates, {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduce])


FUNCTIONS = {
    **same(*("exp2 log2 sin sqrt neg abs relu exp expm1 log log10 log1p rsqrt sigmoid tanh erf erfc cos tan asin acos atan sinh cosh asinh acosh atanh "
             "lgamma digamma erfinv floor ceil round trunc sign signbit square isnan isinf isfinite frac").split()),
    "recip": torch.reciprocal, "silu": f.silu, "gelu": f.gelu, "gelu_tanh": lambda x: f.gelu(x, approximate="tanh"), "softplus": f.softplus, "mish": f.mish, "softsign": f.softsign, "logsigmoid": f.logsigmoid, "relu6": f.relu6, "hardsigmoid": f.hardsigmoid,
    "hardswish": f.hardswish, "selu": f.selu, "tanhshrink": f.tanhshrink, "logit": torch.logit, "hardtanh": f.hardtanh,
    **{n: lambda x, y, g=getattr(torch, t): g(*torch.broadcast_tensors(x, y)) for n, t in {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "mod": "fmod", "maximum": "maximum", "minimum": "minimum", "cmplt": "lt", "cmpeq": "eq",
       "copysign": "copysign", "next_after": "nextafter", "heaviside": "heaviside", "atan2": "atan2", "pow": "pow", "hypot": "hypot", "remainder": "remainder", "logaddexp": "logaddexp", "xlogy": "xlogy", "floor_div": "floor_divide",
       "bit_and": "bitwise_and", "bit_or": "bitwise_or", "xor": "bitwise_xor"}.items()},
    "bit_not": torch.bitwise_not, "where": torch.where, "cast": lambda x, to: x.int(), "bitcast": lambda x, to: x.view(torch.int32),
    "sum": reduced(torch.sum), "max": reduced(torch.amax), "min": reduced(torch.amin), "mean": reduced(torch.mean), "var": lambda x, axis, keep: torch.var(x, axis, unbiased=False, keepdim=bool(keep)),
    "std": lambda x, axis, keep: torch.std(x, axis, unbiased=False, keepdim=bool(keep)), "prod": extreme(torch.prod), "any": extreme(torch.any), "all": extreme(torch.all), "argmax": extreme(torch.argmax), "argmin": extreme(torch.argmin),
    "count_nonzero": lambda x, axis, keep: torch.count_nonzero(x, axis).reshape(torch.sum(x, axis, bool(keep)).shape), "logsumexp": lambda x, axis: torch.logsumexp(x, axis), "cumsum": lambda x, axis: torch.cumsum(x, axis), "cumprod": lambda x, axis: torch.cumprod(x, axis),
    "l1_norm": lambda x, axis, keep: torch.linalg.vector_norm(x, 1, axis, bool(keep)), "l2_norm": lambda x, axis, keep: torch.linalg.vector_norm(x, 2, axis, bool(keep)),
    **{n: lambda x, axis, g=getattr(torch, n[:6]), i=int(n.endswith("index")): g(x, axis)[i] for n in ("cummax", "cummin", "cummax_index", "cummin_index")},
    "sort": lambda x, axis: torch.sort(x, dim=axis, stable=True)[0], "argsort": lambda x, axis: torch.sort(x, dim=axis, stable=True)[1], "top_k": lambda x, k, axis, largest: torch.topk(x, k, axis, bool(largest))[0], "searchsorted": lambda sorted, x, right: torch.searchsorted(sorted, x, right=bool(right)),
    "diff": lambda x, axis: torch.diff(x, dim=axis), "softmax": lambda x, axis: f.softmax(x, axis), "softmin": lambda x, axis: f.softmin(x, axis), "log_softmax": lambda x, axis: f.log_softmax(x, axis),
    "layer_norm": lambda x, w, b: f.layer_norm(x, x.shape[-1:], w, b), "group_norm": lambda x, groups, w=None, b=None: f.group_norm(x, groups, w, b), "instance_norm": lambda x, w=None, b=None: f.instance_norm(x, weight=w, bias=b),
    "batch_norm": lambda x, mean, var: f.batch_norm(x, mean, var), "normalize": lambda x, axis: f.normalize(x, dim=axis), "matmul": lambda a, b: a @ b, "linear": lambda x, w, b: f.linear(x, w, b),
    "attention_scores": lambda q, k: q @ k.transpose(-1, -2) / q.shape[-1]**0.5, "attention": lambda q, k, v, mask=None: torch.softmax((q @ k.transpose(-1, -2) / q.shape[-1]**0.5) if mask is None else (q @ k.transpose(-1, -2) / q.shape[-1]**0.5).masked_fill(~mask, -torch.inf), -1) @ v,
    **{f"conv{n}d": lambda x, w, b, stride, padding, dilation, groups, g=getattr(f, f"conv{n}d"): g(x, w, b, stride, padding, dilation, groups) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": lambda x, w, b, stride, padding, dilation, groups, g=getattr(f, f"conv_transpose{n}d"): g(x, w, b, stride, padding, 0, groups, dilation) for n in (1, 2, 3)},
    **{f"{k}_pool{n}d": windowed(getattr(f, f"{k}_pool{n}d")) for k in ("avg", "max") for n in (1, 2, 3)}, **{f"adaptive_{k}_pool{n}d": lambda x, size, g=getattr(f, f"adaptive_{k}_pool{n}d"): g(x, size) for k in ("avg", "max") for n in (1, 2)},
    **{f"lp_pool{n}d": lambda x, size, stride, padding, p, g=getattr(f, f"lp_pool{n}d"), n=n: g(f.pad(abs(x), [q for p in padding[::-1] for q in (p, p)]), p, size if n > 1 else size[0], stride if n > 1 else stride[0]) for n in (1, 2)},
    **{f"max_pool{n}d_index": lambda x, size, stride, padding, g=getattr(f, f"max_pool{n}d"): g(x, size, stride, padding, return_indices=True)[1] for n in (1, 2)},
    "interpolate": lambda x, size, mode, align_corners: f.interpolate(x, size, mode=mode.replace("_", "-"), align_corners=bool(align_corners) if mode[0] == "b" else None),
    "grid_sample": lambda x, grid, mode, padding_mode, align_corners: f.grid_sample(x, grid, mode, padding_mode, bool(align_corners)), "affine_grid": lambda theta, size, align_corners: f.affine_grid(theta, [len(theta), 1, *size], bool(align_corners)),
    "unfold": lambda x, size, padding, stride: f.unfold(x, size, 1, padding, stride), "fold": lambda x, output_size, size: f.fold(x, output_size, size),
    "reshape": lambda x, shape: x.reshape(shape), "permute": lambda x, order: x.permute(order), "transpose": lambda x, a, b: x.transpose(a, b), "expand": lambda x, shape: x.expand(shape).contiguous(), "flip": lambda x, axis: torch.flip(x, axis),
    "roll": lambda x, axis, shift: torch.roll(x, shift, axis), "repeat": lambda x, axis, times: torch.repeat_interleave(x, times, axis), "concat": lambda x, y, axis: torch.cat([x, y]), "tile": lambda x, times: torch.tile(x, times), "diagonal": torch.diagonal, "trace": torch.trace,
    "tril": lambda x, diagonal: torch.tril(x, diagonal), "triu": lambda x, diagonal: torch.triu(x, diagonal), "gather": lambda table, index: f.embedding(index, table), "take_along": lambda x, index, axis: torch.gather(x, axis, index),
    "depth_to_space": lambda x, block, mode: f.pixel_shuffle(x, block), "space_to_depth": lambda x, block, mode: f.pixel_unshuffle(x, block),
    "scatter": scattered, "index_add": lambda x, index, updates, axis: x.index_add(0, index, updates), "embedding_bag": lambda table, index, mode: f.embedding_bag(index, table, mode=mode),
    "lerp": lambda x, y, weight: torch.lerp(*torch.broadcast_tensors(x, y, weight)), "nan_to_num": torch.nan_to_num, "hardshrink": lambda x, lambd: f.hardshrink(x, lambd), "softshrink": lambda x, lambd: f.softshrink(x, lambd), "threshold": lambda x, threshold, value: f.threshold(x, threshold, value),
    "leaky_relu": lambda x, slope: f.leaky_relu(x, slope), "elu": lambda x, alpha: f.elu(x, alpha), "celu": lambda x, alpha: f.celu(x, alpha), "clamp": lambda x, low, high: torch.clamp(x, low, high), "prelu": lambda x, slope: f.prelu(x, slope), "glu": lambda x, axis: f.glu(x, axis),
    "cross_entropy": classed(f.cross_entropy), "nll_loss": classed(f.nll_loss), "mse_loss": losses(f.mse_loss), "l1_loss": losses(f.l1_loss), "smooth_l1_loss": losses(f.smooth_l1_loss), "huber_loss": losses(f.huber_loss),
    "binary_cross_entropy": losses(f.binary_cross_entropy), "binary_cross_entropy_with_logits": losses(f.binary_cross_entropy_with_logits), "kl_div": losses(f.kl_div),
    **{n: lambda x, target, reduction, g=getattr(f, n), **k: g(x, target, reduction=reduction, **k) for n in ("hinge_embedding_loss", "soft_margin_loss", "multi_margin_loss")}, "multilabel_soft_margin_loss": losses(f.multilabel_soft_margin_loss),
    "margin_ranking_loss": lambda x, y, target, margin, reduction: f.margin_ranking_loss(x, y, target, margin, reduction=reduction), "cosine_embedding_loss": lambda x, y, target, margin, reduction: f.cosine_embedding_loss(x, y, target, margin, reduction=reduction),
    "poisson_nll_loss": lambda x, target, full, reduction: f.poisson_nll_loss(x, target, True, bool(full), reduction=reduction), "gaussian_nll_loss": lambda x, target, var, full, reduction: f.gaussian_nll_loss(x, target, var, bool(full), reduction=reduction),
    "triplet_margin_loss": lambda x, positive, negative, reduction: f.triplet_margin_loss(x, positive, negative, reduction=reduction), "cosine_similarity": lambda x, y: f.cosine_similarity(x, y), "pairwise_distance": lambda x, y: f.pairwise_distance(x, y),
    "local_response_norm": lambda x, size, alpha, beta, k: f.local_response_norm(x, size, alpha, beta, k),
    "rnn_cell": flat(cell(torch.rnn_tanh_cell)), "gru_cell": flat(cell(torch.gru_cell)), "lstm_cell": flat(lambda *a, **k: cell(torch.lstm_cell)(*a, **k)[0]), "lstm_cell_c": flat(lambda *a, **k: cell(torch.lstm_cell)(*a, **k)[1]),
    "complex_abs": lambda x: pairs(x).abs(), "complex_mul": lambda x, y: torch.view_as_real(pairs(x) * pairs(y)), "complex_exp": lambda x: torch.view_as_real(pairs(x).exp()),
    "dft": lambda x: torch.view_as_real(torch.fft.fft(pairs(x))), "idft": lambda x: torch.view_as_real(torch.fft.ifft(pairs(x))),
    "fake_quantize": lambda x, scale, zero_point: torch.fake_quantize_per_channel_affine(x, scale, zero_point.int(), 1, -128, 127) if scale.ndim else torch.fake_quantize_per_tensor_affine(x, float(scale), int(zero_point), -128, 127),
}


def shuffled(d): return {**NUMPY["depth_to_space"][0](d), "mode": "crd"}


DRAWN = {  # what NumPy lacks, or PyTorch has not
    **WITHOUT, "depth_to_space": shuffled, "space_to_depth": shuffled,
    "fold": lambda d: {"x": d.floats(2, 8, 12, special=False), "output_size": [4, 5], "size": [2, 2]},
    "instance_norm": lambda d: {**NUMPY["instance_norm"][0](d), "x": d.floats(2, 4, d.int(2, 5), special=False)},  # it refuses a single element
    **{f"max_pool{n}d_index": NUMPY[f"max_pool{n}d"][0] for n in (1, 2)},
}
# Definitions whose results of PyTorch 1.13 differ, and why these are not legal.
KNOWN = {
    "log1p": "infinite for 3e38", "digamma": "errors of up to 16 ULP", "gelu": "errors of up to 8 ULP where x < 0",
    "sign": "0 for NaN; -1, 0, 1 or NaN in NumPy, JAX and StableHLO", "heaviside": "0 for NaN, where NumPy has NaN", "softshrink": "0 for NaN",
    "mod": "NaN for 3e38, where C's fmod is exact", "floor_div": "NaN for 3e38, by the same remainder",
    "remainder": "a zero with the sign of x; Python's has that of y", "lp_pool2d": "the mean of subnormals times their number", "lp_pool1d": "the same",
    "multi_margin_loss": "leaves out classes whose difference is NaN",
}
TORCH = {name: (DRAWN.get(name) or NUMPY[name][0], run(function)) for name, function in FUNCTIONS.items()}
