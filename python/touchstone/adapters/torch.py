"""PyTorch, on the CPU or --device cuda; --compile judges what torch.compile makes of each function."""
import torch
import torch.nn.functional as F

from . import Adapter as _Adapter


def _axis(function, result=lambda x: x):
    return lambda x, axis: result(function(x, dim=axis))


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
            "linear": F.linear, "conv2d": F.conv2d,
            "max_pool2d": lambda x, size, stride: F.max_pool2d(x, size, stride),
            "avg_pool2d": lambda x, size, stride: F.avg_pool2d(x, size, stride),
        }
        if hasattr(F, "scaled_dot_product_attention"):
            self.functions["attention"] = F.scaled_dot_product_attention
        if compile:
            if not hasattr(torch, "compile"):
                raise ImportError(f"torch {torch.__version__} has no torch.compile; it needs 2.0 or later")
            self.functions = {name: torch.compile(f) for name, f in self.functions.items()}

    def to(self, array):
        return torch.from_numpy(array).to(self.device)

    def back(self, array):
        return array.detach().cpu()
