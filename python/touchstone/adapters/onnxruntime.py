"""ONNX Runtime: a model of one node each, for --device cpu or cuda. Needs onnx, too. Written against their documented
interfaces."""
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

    def __init__(self, device="cpu"):
        self.version = onnxruntime.__version__
        self.providers = [{"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}[device]]
        if device == "cuda":
            self.base = self.profile = "cuda"
        self.functions = dict(_NODES)

    def run(self, op, arrays, attributes):
        given = dict(attributes)
        if "size" in given:
            given = {"kernel_shape": [given["size"]] * 2, "strides": [given["stride"]] * 2}
        names = [f"x{i}" for i in range(len(arrays))]
        node = helper.make_node(self.functions[op], names, ["y"], **given)
        inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                  for n, a in zip(names, arrays)]
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        model = helper.make_model(helper.make_graph([node], op, inputs, [output]),
                                  opset_imports=[helper.make_opsetid("", 17)])
        onnx.checker.check_model(model)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=self.providers)
        return session.run(None, dict(zip(names, arrays)))[0]
