"""ONNX Runtime: a model of one node each, for --device cpu or cuda. Needs onnx, too."""
import onnx
import onnxruntime
from onnx import TensorProto, helper

from . import Adapter as _Adapter

# Node, and attributes for those of a definition.
_NODES = {
    "neg": "Neg", "sqrt": "Sqrt", "recip": "Reciprocal", "sin": "Sin", "exp": "Exp", "log": "Log", "abs": "Abs",
    "sigmoid": "Sigmoid", "relu": "Relu", "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "maximum": "Max",
    "matmul": "MatMul", "softmax": "Softmax", "log_softmax": "LogSoftmax", "conv2d": "Conv",
    "max_pool2d": "MaxPool", "avg_pool2d": "AveragePool", "layer_norm": "LayerNormalization",
}


class Adapter(_Adapter):
    name = "onnxruntime"
    declared = {"casts_saturate": False, "zeros_alike": True}

    def __init__(self, device="cpu"):
        self.version = onnxruntime.__version__
        self.providers = [{"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}[device]]
        there = onnxruntime.get_available_providers()
        if self.providers[0] not in there:  # it would run elsewhere, with a warning
            raise ImportError(f"this onnxruntime has no {self.providers[0]}; it has {', '.join(there)}")
        if device == "cuda":
            self.declared = {"base": "cuda", "zeros_alike": True}
        self.functions = dict(_NODES)

    def run(self, op, arrays, attributes):
        given = dict(attributes)
        if "size" in given:
            given = {"kernel_shape": [given["size"]] * 2, "strides": [given["stride"]] * 2}
        names = [f"x{i}" for i in range(len(arrays))]
        node = helper.make_node(self.functions[op], names, ["y"], **given)
        inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                  for n, a in zip(names, arrays)]
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * arrays[0].ndim)
        model = helper.make_model(helper.make_graph([node], op, inputs, [output]), ir_version=8,
                                  opset_imports=[helper.make_opsetid("", 17)])
        onnx.checker.check_model(model)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=self.providers)
        return session.run(None, dict(zip(names, arrays)))[0]
