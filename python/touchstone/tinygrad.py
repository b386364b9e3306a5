"""tinygrad 0.8: its functions, and `watch`, under which every kernel that a device runs is judged.

In that version Device[NAME].get_runner(ast) returns a runner and caches it; exec(buffers, var_vals) calls the runner,
TinyJit calls it directly. buffers[0] is the output.
"""
import numpy as np

from ._judging import profile as _profile
from .adapters import Adapter as _Adapter
from .compat.tinygrad.ops import _dtype, to_kernel

# Its C takes a maximum by a ternary, so that NaN may be dropped and either zero returned.
_DECLARED = {"max": "either", "casts_saturate": False, "zeros_alike": True}
_BITS = {"bfloat16": "uint16", "float8_e4m3": "uint8", "float8_e5m2": "uint8"}


class Verdicts(list):
    """(kernel, verdict) of each kernel that ran. `refused`: (ast, exception) of each AST that has no kernel here."""

    def __init__(self):
        self.refused = []


def _host(buffer):
    """A copy of its elements, one after the other."""
    if hasattr(buffer, "toCPU"):
        return np.array(buffer.toCPU()).reshape(-1)
    name = _dtype(buffer.dtype)
    return np.frombuffer(bytes(buffer.as_buffer()), _BITS.get(name, name))


class watch:
    """with watch(Device["CLANG"]) as verdicts: judges every kernel that runs there."""

    def __init__(self, device, profile=None):
        if not hasattr(device, "get_runner"):
            raise TypeError(f"watch: a {type(device).__name__} has no get_runner(ast), as the devices of tinygrad 0.8 have")
        self.device, self.verdicts, self.watched = device, Verdicts(), []
        self.profile = _profile(_DECLARED) if profile is None else profile

    def __enter__(self):
        self.own, self.get_runner = vars(self.device).get("get_runner"), self.device.get_runner
        self.device.get_runner = self.runner
        return self.verdicts

    def __exit__(self, *_):
        for runner, cls in reversed(self.watched):
            runner.__class__ = cls
        del self.device.get_runner
        if self.own is not None:
            self.device.get_runner = self.own

    def runner(self, ast):
        """The runner of that AST, with a judging class until the watch ends, so that kept references are judged, too."""
        from . import Error
        runner = self.get_runner(ast)
        cls = type(runner)
        if any(runner is known for known, _ in self.watched):
            return runner
        try:
            kernel = to_kernel(ast)
        except (Error, KeyError, ValueError) as why:
            self.verdicts.refused.append((ast, why))
            return runner

        def call(this, buffers, var_vals=None, *args, **kwargs):
            inputs, values = [_host(b) for b in buffers[1:]], var_vals or {}  # the output may be among them
            result = cls.__call__(this, buffers, values, *args, **kwargs)
            self.judge(kernel, inputs, _host(buffers[0]), {v.expr: n for v, n in values.items()})
            return result
        runner.__class__ = type("Watched" + cls.__name__, (cls,), {"__call__": call})
        self.watched.append((runner, cls))
        return runner

    def judge(self, kernel, inputs, output, values):
        from . import kernel as k
        names = {v.name for v in kernel.variables}
        kernel = kernel.bind({name: n for name, n in values.items() if name in names}) if names else kernel
        output = output[:np.prod(kernel.shape, dtype=int)].reshape(kernel.shape)  # of a symbolic size it has the most
        self.verdicts.append((kernel, k.check(kernel, inputs[:kernel.buffers[-1][0]], output, self.profile)))


class Adapter(_Adapter):
    name, version, declared = "tinygrad", "0.8", _DECLARED

    def __init__(self, device=None):
        from tinygrad.device import Device
        from tinygrad.tensor import Tensor
        self.device, self.Tensor, self.kernels = device or Device.DEFAULT, Tensor, []
        self.watched = Device[self.device]
        names = ("exp2 log2 sin sqrt neg exp log abs relu sigmoid silu add sub mul div maximum matmul softmax log_softmax sum "
                 "mean max")
        self.functions = {name: getattr(Tensor, name) for name in names.split()}

    def run(self, op, arrays, attributes, dtype="float32"):
        with watch(self.watched) as verdicts:
            result = self.functions[op](*(self.Tensor(a, device=self.device) for a in arrays), **attributes).numpy()
        self.kernels += verdicts
        return result
