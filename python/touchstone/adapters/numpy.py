"""NumPy. Its own AVX-512 code for log2 and sin has larger errors than libm."""
import numpy as np

from . import Adapter as _Adapter


def _softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _log_softmax(x, axis):
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _quiet(function):
    def quiet(*args, **kwargs):
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)
    return quiet


class Adapter(_Adapter):
    name = "numpy"
    declared = {"ulp": {"log2": 2, "sin": 3}, "casts_saturate": False, "zeros_alike": True}

    def __init__(self):
        self.version = np.__version__
        table = {
            "exp2": np.exp2, "log2": np.log2, "sin": np.sin, "sqrt": np.sqrt, "recip": np.reciprocal, "neg": np.negative,
            "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "maximum": np.maximum,
            "mod": np.fmod, "cmplt": np.less, "cmpeq": np.equal,
            "exp": np.exp, "log": np.log, "abs": np.abs, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
            "relu": lambda x: np.maximum(x, x.dtype.type(0)), "softmax": _softmax, "log_softmax": _log_softmax,
            "sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "var": np.var, "cumsum": np.cumsum,
            "matmul": np.matmul, "std": np.std, "expm1": np.expm1, "log10": np.log10, "log1p": np.log1p, "tanh": np.tanh,
            "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
            "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "cbrt": np.cbrt,
            "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc, "atan2": np.arctan2, "pow": np.power,
            "hypot": np.hypot,
        }
        self.functions = {name: _quiet(f) for name, f in table.items()}
