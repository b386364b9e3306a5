"""Adapters of packages that are not there, on stand-ins for them that record what is asked."""
import sys
import types

import numpy as np
import pytest

from touchstone import adapters, kernel
from touchstone.compat.tinygrad import ops
from touchstone.compat.tinygrad.shape.shapetracker import ShapeTracker


class Recording(types.ModuleType):
    """A module that computes as NumPy does, and keeps the names that were asked of it."""

    def __init__(self, name, **members):
        super().__init__(name)
        self.asked, self.members = [], members

    def __getattr__(self, name):
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        self.asked.append(name)
        if name in self.members:
            return self.members[name]
        return "1.0" if name == "__version__" else getattr(np, name)


def install(monkeypatch, **modules):
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name.replace("__", "."), module)
    monkeypatch.delitem(sys.modules, "touchstone.adapters.jax", raising=False)
    monkeypatch.delitem(sys.modules, "touchstone.adapters.cupy", raising=False)
    monkeypatch.delitem(sys.modules, "touchstone.adapters.onnxruntime", raising=False)


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def test_each_is_short():
    import pathlib
    for name in adapters.NAMES:
        assert len((pathlib.Path(adapters.__file__).parent / f"{name}.py").read_text().splitlines()) < 100


def test_numpy():
    adapter = adapters.load("numpy")
    for op in ("add", "exp", "softmax", "matmul", "sum", "max", "cmplt"):
        assert adapters.judge(adapter, op).legal, op
    adapter.functions["mul"] = lambda a, b: np.multiply(a, b) * np.float32(1.001)
    assert adapters.judge(adapter, "mul").status == "FAIL" and adapters.judge(adapter, "conv2d") is None


def test_jax(monkeypatch):
    device = types.SimpleNamespace(platform="cpu")
    nn = types.SimpleNamespace(sigmoid=None, relu=None, silu=None, softmax=softmax, log_softmax=None)
    puts = []
    jax = Recording("jax", devices=lambda *a: [device], jit=lambda f: f, nn=nn, device_put=lambda a, d: puts.append(d) or a,
                    device_get=np.asarray, config=types.SimpleNamespace(update=lambda *a: None))
    jnp = Recording("jax.numpy")
    install(monkeypatch, jax=jax, jax__numpy=jnp)
    jax.numpy = jnp
    adapter = adapters.load("jax", device="cpu")
    assert adapters.judge(adapter, "softmax").legal and adapters.judge(adapter, "add").ok and puts[0] is device


def test_cupy(monkeypatch):
    used = []
    cuda = types.SimpleNamespace(Device=lambda n: types.SimpleNamespace(use=lambda: used.append(n)))
    install(monkeypatch, cupy=Recording("cupy", cuda=cuda, asnumpy=np.asarray))
    adapter = adapters.load("cupy", device="1")
    assert used == [1] and adapter.declared["base"] == "cuda" and adapters.judge(adapter, "matmul").legal and adapters.judge(adapter, "softmax").legal


def test_onnxruntime(monkeypatch):
    made = []

    class Session:
        def __init__(self, model, providers):
            self.op, = model
            assert providers == ["CPUExecutionProvider"]

        def run(self, wanted, inputs):
            return [{"Add": np.add, "MatMul": np.matmul, "Softmax": softmax}[self.op[0]](*inputs.values(), **self.op[1])]
    helper = types.SimpleNamespace(
        make_node=lambda op, i, o, **a: made.append(op) or (op, a), np_dtype_to_tensor_dtype=lambda d: 1,
        make_tensor_value_info=lambda *a: a, make_graph=lambda nodes, *a: nodes, make_opsetid=lambda *a: a,
        make_model=lambda graph, **a: types.SimpleNamespace(SerializeToString=lambda: graph))
    onnx = Recording("onnx", helper=helper, TensorProto=types.SimpleNamespace(FLOAT=1),
                     checker=types.SimpleNamespace(check_model=lambda m: None))
    install(monkeypatch, onnx=onnx, onnxruntime=Recording("onnxruntime", InferenceSession=Session, get_available_providers=lambda: ["CPUExecutionProvider"]))
    adapter = adapters.load("onnxruntime")
    assert adapters.judge(adapter, "softmax").legal and adapters.judge(adapter, "matmul").legal and set(made) == {"Softmax", "MatMul"}
    with pytest.raises(ImportError, match="has no CUDAExecutionProvider"):  # rather than to run on the host
        adapters.load("onnxruntime", device="cuda")


def test_tinygrad_s_kernels_are_judged():
    st = ShapeTracker.from_shape((4,))
    x = ops.LazyOp(ops.BufferOps.LOAD, (), ops.MemBuffer(1, "float32", st))
    ast = ops.LazyOp(ops.BufferOps.STORE, (ops.LazyOp(ops.BinaryOps.ADD, (x, x)),), ops.MemBuffer(0, "float32", st))

    class Buffer:
        def __init__(self, array):
            self.array = array

        def toCPU(self):
            return self.array

    class Device:
        scale = np.float32(2)

        def get_runner(self, ast):
            def run(buffers, var_vals, wait=False, jit=False):
                buffers[0].array[:] = buffers[1].array * self.scale
                return 0.1
            return run
    from touchstone.adapters.tinygrad import watch
    device, buffers = Device(), [Buffer(np.zeros(4, "f4")), Buffer(np.arange(4, dtype="f4"))]
    with watch(device) as verdicts:
        assert device.get_runner(ast)(buffers, {}) == 0.1
        device.scale = np.float32(2.01)
        device.get_runner(ast)(buffers, {})
    assert [v.status for _, v in verdicts] == ["PASS", "FAIL"] and verdicts[1][1].index == (1,) and isinstance(verdicts[0][0], kernel.Kernel)
    assert device.get_runner.__func__ is Device.get_runner


def test_packages_that_are_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.delitem(sys.modules, "touchstone.adapters.cupy", raising=False)
    with pytest.raises(ImportError):
        adapters.load("cupy")
    with pytest.raises(ValueError, match="choose from"):
        adapters.load("nonesuch")
