"""A stand-in for onnx: models are dicts; the checker tests types and attributes against ONNX's operators (opset 17)."""
import types

import numpy as np

_TYPES = {np.dtype("f4"): 1, np.dtype("f8"): 11, np.dtype("f2"): 10}
_ATTRIBUTES = {"Softmax": {"axis"}, "LogSoftmax": {"axis"}, "Conv": {"strides", "pads"}, "MaxPool": {"kernel_shape", "strides"},
               "AveragePool": {"kernel_shape", "strides"}, "LayerNormalization": set()}


def _node(op, inputs, outputs, **attributes):
    return {"op": op, "inputs": inputs, "outputs": outputs, "attributes": attributes}


def _check(model):
    node, = model["nodes"]
    assert set(node["attributes"]) <= _ATTRIBUTES.get(node["op"], set()), node
    assert [name for name, _, _ in model["inputs"]] == node["inputs"] and len({t for _, t, _ in model["inputs"]}) == 1
    assert [(name, t) for name, t, _ in model["outputs"]] == [(node["outputs"][0], model["inputs"][0][1])]


class _Model(dict):
    def SerializeToString(self):
        return self


helper = types.SimpleNamespace(
    make_node=_node, np_dtype_to_tensor_dtype=lambda d: _TYPES[np.dtype(d)],
    make_tensor_value_info=lambda name, type, shape: (name, type, shape),
    make_graph=lambda nodes, name, inputs, outputs: {"nodes": nodes, "inputs": inputs, "outputs": outputs},
    make_opsetid=lambda domain, version: (domain, version), make_model=lambda graph, **kwargs: _Model(graph))
checker = types.SimpleNamespace(check_model=_check)
