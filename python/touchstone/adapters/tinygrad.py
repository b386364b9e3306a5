"""tinygrad 0.8: its functions, and `watch`, under which every kernel that a device runs is judged.

Written against its interface of that version: Device[NAME].get_runner(ast) gives a runner, called with buffers.
"""
from . import Adapter as _Adapter
from ..compat.tinygrad.ops import to_kernel


class Watch:
    """The verdicts on what ran: (kernel, verdict) of each."""

    def __init__(self, device, profile=None):
        self.device, self.profile, self.verdicts = device, profile, []

    def __enter__(self):
        self._get_runner = self.device.get_runner
        self.device.get_runner = self.runner
        return self.verdicts

    def __exit__(self, *_):
        self.device.get_runner = self._get_runner

    def runner(self, ast):
        from .. import kernel
        run = self._get_runner(ast)
        asked = to_kernel(ast)

        def judged(buffers, var_vals=None, *args, **kwargs):
            inputs = [b.toCPU().copy() for b in buffers[1:]]
            result = run(buffers, var_vals or {}, *args, **kwargs)
            concrete = asked.bind({v.expr: n for v, n in var_vals.items()}) if var_vals else asked
            output = buffers[0].toCPU().reshape(concrete.shape)
            self.verdicts.append((concrete, kernel.check(concrete, inputs, output, self.profile or "")))
            return result
        return judged


def watch(device, profile=None):
    """with watch(Device["CLANG"]) as verdicts: what runs there is judged."""
    return Watch(device, profile)


class Adapter(_Adapter):
    name = "tinygrad"

    def __init__(self, device=None):
        from tinygrad import Tensor
        self.version, self.device, self.Tensor = "0.8", device, Tensor
        self.functions = {
            "exp2": Tensor.exp2, "log2": Tensor.log2, "sin": Tensor.sin, "sqrt": Tensor.sqrt, "neg": Tensor.neg,
            "exp": Tensor.exp, "log": Tensor.log, "abs": Tensor.abs, "relu": Tensor.relu, "sigmoid": Tensor.sigmoid,
            "add": Tensor.__add__, "sub": Tensor.__sub__, "mul": Tensor.__mul__, "div": Tensor.__truediv__,
            "maximum": Tensor.maximum, "matmul": Tensor.matmul, "softmax": Tensor.softmax,
            "log_softmax": Tensor.log_softmax, "sum": Tensor.sum, "mean": Tensor.mean, "max": Tensor.max,
        }

    def to(self, array):
        return self.Tensor(array, device=self.device) if self.device else self.Tensor(array)

    def back(self, array):
        return array.numpy()
