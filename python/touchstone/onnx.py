"""Models of ONNX: judged value by value, and run on the reference.

    for value in touchstone.onnx.judge("net.onnx", {"x": x}, backend=touchstone.onnx.run_onnxruntime):
        print(value)

Each value is judged by the values that the candidate had for the operands, so that one fault makes one FAIL. `Backend`
is the reference as a backend for ONNX's own test runner. Neither needs Python's onnx, except `Backend`.
"""
from dataclasses import dataclass

from . import ParseError
from ._core.kernel import Verdict
from ._core.model import Model, _exposing
from .adapters import Adapter as _Adapter
from .kernel import as_array

__all__ = ["Adapter", "JudgedValue", "Model", "assert_legal", "exposed", "judge", "run", "run_onnxruntime"]


@dataclass
class JudgedValue:
    """The verdict on one value; without one, `why` says why it was not judged."""
    name: str
    operator: str
    place: str
    verdict: Verdict | None
    why: str
    formula: str

    @property
    def status(self):
        return "NOT JUDGED" if self.verdict is None else self.verdict.status

    def __bool__(self):
        return bool(self.verdict)

    def __str__(self):
        return f"{self.place} '{self.name}': {'NOT JUDGED: ' + self.why if self.verdict is None else self.verdict}"


def _model(model):
    """A Model, of a path, bytes, or a ModelProto."""
    if isinstance(model, Model):
        return model
    return Model(model.SerializeToString() if hasattr(model, "SerializeToString") else model)


def run(model, inputs, values=()):
    """{name: array} of the outputs, or of `values`, by the reference: every operation correctly rounded, sums exact.

    model: a path, bytes, a ModelProto, the text of a module of StableHLO, or a Model; inputs: {name: array}; values: a
    list of names. Raises ParseError for what has no value."""
    if isinstance(values, str):
        values = [values]
    return {name: as_array(v) for name, v in _model(model)._run(dict(inputs), list(values)).items()}


def judge(model, inputs, actual=None, *, backend=None, profile=""):
    """A JudgedValue for each value in `actual`, {name: array}: outputs of the model, or any value inside.

    backend: instead of `actual`, a function of (model, inputs) that returns it; the model it gets, as bytes, has all of
    its values as outputs. Values that are not in `actual` are composed: the operations between are judged as one."""
    if (actual is None) == (backend is None):
        raise TypeError("give the values, or a backend that computes them")
    read = _model(model)
    if backend is not None:
        actual = backend(exposed(model), inputs)
    if not hasattr(actual, "keys"):
        raise TypeError("the candidate's values are {name: array}")
    return [JudgedValue(*found) for found in read._judge(dict(inputs), dict(actual), profile)]


def assert_legal(model, inputs, actual=None, *, backend=None, profile="", weak_ok=False):
    """As `judge`; raises AssertionError that names the first wrong value, or one that could not be judged."""
    judged = judge(model, inputs, actual, backend=backend, profile=profile)
    wrong = [v for v in judged if not v and not (weak_ok and v.status == "WEAK")]
    if wrong:
        raise AssertionError("\n".join(str(v) for v in wrong[:10]) + (f"\n... and {len(wrong) - 10} more" if len(wrong) > 10 else ""))
    if not judged:
        raise AssertionError("nothing was judged: no value of the model is given")


def exposed(model):
    """The model as bytes, with all of its values as outputs."""
    if isinstance(model, Model):
        raise TypeError("give the model as a path, bytes or a ModelProto: a Model does not keep its bytes")
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if not isinstance(model, bytes):
        if str(model).endswith(".mlir"):
            raise TypeError("backends take models of ONNX; give the values of a module of StableHLO")
        with open(model, "rb") as file:
            model = file.read()
    read = Model(model)
    return _exposing(model, [v for v in read.values if v not in read.outputs])


def run_onnxruntime(model, inputs, providers=("CPUExecutionProvider",)):
    """All outputs of a model by ONNX Runtime, without its fusions: a backend for `judge`."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=list(providers))
    names = [o.name for o in session.get_outputs()]
    return {n: v for n, v in zip(names, session.run(names, dict(inputs))) if hasattr(v, "dtype")}


# Node, with the attributes that a definition needs.
_NODES = {
    "neg": "Neg", "sqrt": "Sqrt", "recip": "Reciprocal", "sin": "Sin", "exp": "Exp", "log": "Log", "abs": "Abs",
    "sigmoid": "Sigmoid", "relu": "Relu", "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "maximum": "Max",
    "matmul": "MatMul", "softmax": "Softmax", "log_softmax": "LogSoftmax", "conv2d": "Conv",
    "max_pool2d": "MaxPool", "avg_pool2d": "AveragePool", "layer_norm": "LayerNormalization",
}
_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


class Adapter(_Adapter):
    """ONNX Runtime: a model of one node each, for --device cpu or cuda. Needs onnx, too."""
    name = "onnxruntime"
    declared = {"casts_saturate": False, "zeros_alike": True}

    def __init__(self, device="cpu"):
        import onnxruntime
        self.runtime, self.version = onnxruntime, onnxruntime.__version__
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
        import onnx
        from onnx import helper
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
        session = self.runtime.InferenceSession(model.SerializeToString(), providers=self.providers)
        return session.run(None, dict(zip(names, arrays)))[0]


def __getattr__(name):
    if name != "Backend":
        raise AttributeError(f"module 'touchstone.onnx' has no attribute '{name}'")
    from onnx.backend import base

    class Prepared(base.BackendRep):
        def __init__(self, model):
            self.model = model

        def run(self, inputs, **kwargs):
            given = dict(zip(self.model.inputs, inputs)) if isinstance(inputs, (list, tuple)) else dict(inputs)
            made = run(self.model, given)
            return [made[o] for o in self.model.outputs]

    class Backend(base.Backend):
        """The reference, as onnx.backend.test.runner.Runner takes it."""
        @classmethod
        def is_compatible(cls, model, device="CPU", **kwargs):
            try:
                return not _model(model).unsupported
            except ParseError:
                return False

        @classmethod
        def prepare(cls, model, device="CPU", **kwargs):
            return Prepared(_model(model))

        @classmethod
        def supports_device(cls, device):
            return device == "CPU"

    globals()["Backend"] = Backend
    return Backend
