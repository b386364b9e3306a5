"""Adapters of packages that are not installed, on stand-ins that record calls."""
import os
import pathlib
import subprocess
import sys
import types

import numpy as np
import pytest

from touchstone import adapters, kernel


class Recording(types.ModuleType):
    """A module that computes like NumPy and records the names requested from it."""

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


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


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


STANDINS = pathlib.Path(__file__).parent / "standins"


@pytest.fixture
def standins(monkeypatch):
    """Stand-ins for packages that are not installed; they record calls."""
    monkeypatch.syspath_prepend(str(STANDINS))
    names = ("tinygrad", "tinygrad.device", "tinygrad.ops", "tinygrad.tensor", "onnx", "onnxruntime")
    fresh = [*names, "touchstone.tinygrad"]
    for name in fresh:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in fresh:
        sys.modules.pop(name, None)


def test_onnxruntime(standins):
    adapter = adapters.load("onnxruntime")
    import onnxruntime
    for op in adapter.functions:
        assert adapters.judge(adapter, op).legal, op
    assert set(onnxruntime.ran) == set(adapter.functions.values())
    assert adapters.judge(adapter, "add", dtype="float64").ok and adapters.judge(adapter, "matmul", dtype="float16").legal
    with pytest.raises(ImportError, match="has no CUDAExecutionProvider"):  # not on the host
        adapters.load("onnxruntime", device="cuda")
    with pytest.raises(TypeError, match="choose from: cpu, cuda"):
        adapters.load("onnxruntime", device="tpu")
    onnxruntime.there.append("CUDAExecutionProvider")
    onnxruntime.__version__ = "1.20.1"
    assert adapters.judge(adapters.load("onnxruntime", device="cuda"), "matmul").legal
    assert onnxruntime.opened[-1] == [("CUDAExecutionProvider", {"use_tf32": 0})]


def test_tinygrad_s_kernels_are_judged(standins):
    from tinygrad.device import Device, asked, captured
    from tinygrad.tensor import Tensor
    from touchstone.tinygrad import watch
    device, x = Device["CLANG"], Tensor(np.linspace(-3, 3, 24, dtype="f4").reshape(4, 6))
    kept = type(device.get_runner).__name__
    with watch(device) as verdicts:
        x.softmax()
        assert x.matmul(Tensor(np.ones((6, 2), "f4"))).numpy().shape == (4, 2)
        Tensor(np.arange(1, 4, dtype="f4")).pad(2, 3)
    assert [v.status for _, v in verdicts] == ["PASS"] * 6 and not verdicts.refused
    assert [k.shape for k, _ in verdicts] == [(4, 1), (4, 6), (4, 1), (4, 6), (4, 2, 1), (8,)]
    assert "REDUCE_MAX" in str(verdicts[0][0]) and isinstance(verdicts[0][0], kernel.Kernel)
    # One wrong kernel among three right ones; the device is unchanged after the watch.
    device.fault = lambda ast: np.float32(1.001 if "EXP2" in str(ast) else 1)
    with watch(device) as verdicts:
        x.softmax()
    assert [v.status for _, v in verdicts] == ["PASS", "FAIL", "PASS", "PASS"] and verdicts[1][1].index is not None
    device.fault = lambda ast: np.float32(1)
    assert type(device.get_runner).__name__ == kept and "get_runner" not in vars(device) and "get_runner" in asked
    # Kernels captured before the watch replay unseen; those captured in it are judged at each
    # replay.
    with watch(device) as verdicts:
        x.exp2()
        runner, buffers, values = captured[-1]
        runner(buffers, values, jit=True)
    assert len(verdicts) == 2 and isinstance(runner, type(captured[0][0])) and type(runner) is type(captured[0][0])
    with pytest.raises(TypeError, match="no get_runner"):
        watch(object())


def test_tinygrad_s_sizes_may_be_variables(standins):
    from tinygrad import ops as tiny
    from tinygrad.device import Buffer, Device
    from touchstone.tinygrad import watch
    n = tiny.Variable("n", 1, 8)
    st = tiny.contiguous((n, 3))
    x = tiny.LazyOp(tiny.BufferOps.LOAD, (), tiny.MemBuffer(1, tiny.float32, st))
    ast = tiny.LazyOp(tiny.BufferOps.STORE, (tiny.LazyOp(tiny.BinaryOps.ADD, (x, x)),), tiny.MemBuffer(0, tiny.float32, st))
    buffers = [Buffer("CLANG", 24, tiny.float32), Buffer("CLANG", 24, tiny.float32, np.arange(24))]
    with watch(Device["CLANG"]) as verdicts:
        Device["CLANG"].get_runner(ast).exec(buffers, {n: 5, tiny.Variable("other", 0, 3): 1})
    assert [(k.shape, v.status, v.checked) for k, v in verdicts] == [((5, 3), "PASS", 15)]
    # Work that is no kernel here still runs, and is reported.
    odd = tiny.LazyOp(tiny.BufferOps.STORE, (tiny.LazyOp(tiny.BinaryOps.ADD, (x, x)),),
                      tiny.MemBuffer(0, tiny.DType("imageh", np.float32), st))
    with watch(Device["CLANG"]) as verdicts:
        Device["CLANG"].get_runner(odd).exec(buffers, {n: 2})
    assert not verdicts and len(verdicts.refused) == 1 and "imageh" in str(verdicts.refused[0][1])


def test_tinygrad_by_the_command(standins):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], str(STANDINS)])}
    run = subprocess.run([sys.executable, "-B", "-W", "ignore", "-m", "touchstone.judge", "tinygrad", "--device", "CLANG", "--ops",
                          "softmax,add"], capture_output=True, text=True, env=environment)
    assert run.returncode == 0 and "softmax-float32 40 kernels: 40 PASS" in run.stdout and "add-float32 PASS" in run.stdout, run
    run = subprocess.run([sys.executable, "-B", "-m", "touchstone.judge", "numpy", "--device", "gpu"], capture_output=True, text=True)
    assert run.returncode == 2 and "takes no option device" in run.stderr


def test_what_a_device_declares_is_never_less_than_its_base():
    import json
    from touchstone import _judging
    both = json.loads(_judging.library({"base": "opencl", "ulp": {"sin": 9}}, {"ulp": {"recip": 7}}))
    assert both["ulp"]["sqrt"] == [3, 0] and both["ulp"]["exp2"] == [3, 1] and both["ulp"]["sin"] == [9, 0]
    assert both["ulp"]["recip"] == [7, 0] and both["base"] == "opencl" and both["zeros_alike"]


def test_packages_that_are_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ImportError):
        adapters.load("cupy")
    with pytest.raises(ValueError, match="choose from"):
        adapters.load("nonesuch")
