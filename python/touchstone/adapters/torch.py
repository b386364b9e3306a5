"""PyTorch, on the CPU or --device cuda; --compile judges what torch.compile makes of each function."""
import torch
import torch.nn.functional as F

from . import Adapter as _Adapter


def _axis(function, result=lambda x: x):
    return lambda x, axis: result(function(x, dim=axis))


def _pool(function):
    return lambda x, size, stride: function(x, size, stride)


class Adapter(_Adapter):
    name = "torch"
    declared = {"ulp": {"sqrt": 1}, "casts_saturate": False, "zeros_alike": True}

    def __init__(self, device="cpu", compile=False):
        self.version, self.device = torch.__version__, torch.device(device)
        if self.device.type == "cuda":
            self.declared = {"base": "cuda", "casts_saturate": False, "zeros_alike": True}
            self.library = {"ulp": {"recip": 2}}  # rsqrtf's documented error in CUDA
            if compile:  # Triton's exp2 and division are PTX's ex2.approx.ftz and div.full
                self.declared.update({"flush": "both", "ulp": {"exp2": 2.5, "recip": 2.5, "div": 2.5}})
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.functions = {
            "exp2": torch.exp2, "log2": torch.log2, "sin": torch.sin, "sqrt": torch.sqrt, "recip": torch.reciprocal,
            "neg": torch.neg, "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div,
            "maximum": torch.maximum, "mod": torch.fmod, "cmplt": torch.lt, "cmpeq": torch.eq, "exp": torch.exp,
            "log": torch.log, "abs": torch.abs, "rsqrt": torch.rsqrt, "sigmoid": torch.sigmoid, "relu": torch.relu,
            "silu": F.silu, "softmax": _axis(torch.softmax), "log_softmax": _axis(torch.log_softmax),
            "logsumexp": _axis(torch.logsumexp), "sum": _axis(torch.sum), "mean": _axis(torch.mean),
            "max": _axis(torch.amax), "min": _axis(torch.amin), "cumsum": _axis(torch.cumsum),
            "var": lambda x, axis: torch.var(x, dim=axis, unbiased=False), "matmul": torch.matmul,
            "layer_norm": lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
            "std": lambda x, axis: torch.std(x, dim=axis, unbiased=False), "batch_norm": F.batch_norm,
            "group_norm": lambda x, w, b, groups: F.group_norm(x, groups, w, b),
            "instance_norm": lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
            "linear": F.linear, "conv1d": F.conv1d, "conv2d": F.conv2d, "gelu": F.gelu,
            "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "softplus": F.softplus,
            **{name: _pool(getattr(F, name)) for name in ("max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d")},
            **{name: getattr(torch, name) for name in (
                "expm1", "log10", "log1p", "tanh", "erf", "erfc", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
                "asinh", "acosh", "atanh", "lgamma", "digamma", "erfinv", "floor", "ceil", "round", "trunc", "atan2", "pow",
                "hypot")},
        }
        if hasattr(F, "scaled_dot_product_attention"):
            self.functions["attention"] = F.scaled_dot_product_attention
        if compile:
            if not hasattr(torch, "compile"):
                raise ImportError(f"torch {torch.__version__} has no torch.compile; it needs 2.0 or later")
            self.functions = {name: torch.compile(f) for name, f in self.functions.items()}

    def to(self, array, dtype):
        if dtype == "bfloat16":  # whose bits NumPy holds
            return torch.from_numpy(array.view("int16")).view(torch.bfloat16).to(self.device)
        return torch.from_numpy(array).to(self.device)

    def back(self, array):
        return array.detach().cpu()
