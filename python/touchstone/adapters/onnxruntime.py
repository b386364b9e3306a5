"""ONNX Runtime: a model of one node each, for --device cpu or cuda. Needs onnx, too."""
import onnx
import onnxruntime
from onnx import helper

from . import Adapter as _Adapter

# Node, with the attributes that a definition needs.
_NODES = {
    "neg": "Neg", "sqrt": "Sqrt", "recip": "Reciprocal", "sin": "Sin", "exp": "Exp", "log": "Log", "abs": "Abs",
    "sigmoid": "Sigmoid", "relu": "Relu", "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "maximum": "Max",
    "matmul": "MatMul", "softmax": "Softmax", "log_softmax": "LogSoftmax", "conv2d": "Conv",
    "max_pool2d": "MaxPool", "avg_pool2d": "AveragePool", "layer_norm": "LayerNormalization",
}

_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


class Adapter(_Adapter):
    name = "onnxruntime"
    declared = {"casts_saturate": False, "zeros_alike": True}

    def __init__(self, device="cpu"):
        self.version = onnxruntime.__version__
        if device not in _PROVIDERS:
            raise TypeError(f"there is no device '{device}' for it; choose from: {', '.join(_PROVIDERS)}")
        there, name = onnxruntime.get_available_providers(), _PROVIDERS[device]
        if name not in there:  # it would warn and run elsewhere
            raise ImportError(f"this onnxruntime has no {name}; it has {', '.join(there)}")
        self.providers = [name]
        if device == "cuda":
            self.declared = {"base": "cuda", "casts_saturate": False, "zeros_alike": True}
            if tuple(map(int, self.version.split(".")[:2])) >= (1, 18):  # which has the option, and TF32 by default
                self.providers = [(name, {"use_tf32": 0})]
        self.functions = dict(_NODES)

    def run(self, op, arrays, attributes, dtype="float32"):
        given = dict(attributes)
        if "size" in given:
            given = {"kernel_shape": [given["size"]] * 2, "strides": [given["stride"]] * 2}
        elif "stride" in given:
            given = {"strides": [given["stride"]] * 2, "pads": [given["padding"]] * 4}
        names = [f"x{i}" for i in range(len(arrays))]
        node = helper.make_node(self.functions[op], names, ["y"], **given)
        inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                  for n, a in zip(names, arrays)]
        output = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(arrays[0].dtype), None)
        model = helper.make_model(helper.make_graph([node], op, inputs, [output]), ir_version=8,
                                  opset_imports=[helper.make_opsetid("", 17)])
        onnx.checker.check_model(model)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=self.providers)
        return session.run(None, dict(zip(names, arrays)))[0]
