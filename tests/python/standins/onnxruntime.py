"""A stand-in for ONNX Runtime: sessions over NumPy, which record the providers (opened) and the operators that ran (ran)."""
import numpy as np

__version__ = "1.16.0"
opened: list = []
ran: list = []
there = ["CPUExecutionProvider"]


def get_available_providers():
    return list(there)


def _softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _log_softmax(x, axis):
    off = x - x.max(axis=axis, keepdims=True)
    return off - np.log(np.exp(off).sum(axis=axis, keepdims=True))


def _windows(x, size, stride=1):
    return np.lib.stride_tricks.sliding_window_view(x, size, axis=(2, 3))[:, :, ::stride, ::stride]


def _normal(x, w, b):
    off = x - x.mean(axis=-1, keepdims=True)
    return off / np.sqrt((off * off).mean(axis=-1, keepdims=True) + x.dtype.type(1e-5)) * w + b


def _conv(x, w, b, strides, pads):
    seen = _windows(np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3]))), w.shape[2:], strides[0])
    return np.einsum("nchwkl,ockl->nohw", seen, w, dtype=x.dtype) + b[:, None, None]


_RUN = {
    "Neg": np.negative, "Sqrt": np.sqrt, "Reciprocal": np.reciprocal, "Sin": lambda x: np.sin(x.astype("f8")).astype(x.dtype),
    "Exp": np.exp, "Log": np.log, "Abs": np.abs, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Relu": lambda x: np.maximum(x, x.dtype.type(0)), "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
    "Max": np.maximum, "MatMul": np.matmul, "Softmax": _softmax, "LogSoftmax": _log_softmax,
    "Conv": _conv,
    "MaxPool": lambda x, kernel_shape, strides: _windows(x, kernel_shape, strides[0]).max(axis=(4, 5)),
    "AveragePool": lambda x, kernel_shape, strides: _windows(x, kernel_shape, strides[0]).mean(axis=(4, 5)),
    "LayerNormalization": _normal,
}


class InferenceSession:
    def __init__(self, model, providers):
        opened.append(providers)
        self.node, = model["nodes"]

    def run(self, wanted, inputs):
        assert list(inputs) == self.node["inputs"]
        ran.append(self.node["op"])
        with np.errstate(all="ignore"):
            return [_RUN[self.node["op"]](*inputs.values(), **self.node["attributes"])]
