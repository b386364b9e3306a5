"""Device[NAME].get_runner(ast), buffers, and runners that are called by exec."""
import functools

import numpy as np

from .ops import evaluate

asked: list = []


class Buffer:
    def __init__(self, device, size, dtype, array=None):
        self.device, self.size, self.dtype = device, size, dtype
        self._buf = np.zeros(size, dtype.np) if array is None else np.array(array, dtype.np).reshape(-1)

    def as_buffer(self):
        asked.append("as_buffer")
        return memoryview(bytearray(self._buf.tobytes()))


class JITRunner:
    op_estimate = mem_estimate = 0

    def exec(self, rawbufs, var_vals=None):
        et = self(rawbufs, var_vals if var_vals is not None else {})
        captured.append((self, rawbufs, var_vals))
        return et


class CompiledASTRunner(JITRunner):
    def __init__(self, ast, device):
        self.ast, self.device = ast, device

    def __call__(self, rawbufs, var_vals, wait=False, jit=False):
        out = evaluate(self.ast, [b._buf for b in rawbufs], {v.expr: n for v, n in var_vals.items()})
        flat = np.asarray(out, rawbufs[0].dtype.np).reshape(-1) * self.device.fault(self.ast)
        rawbufs[0]._buf[:flat.size] = flat
        return 0.001


captured: list = []


class Compiled:
    def __init__(self, name):
        self.dname, self.fault = name, lambda ast: np.float32(1)

    @functools.lru_cache(maxsize=None)
    def get_runner(self, ast):
        asked.append("get_runner")
        return CompiledASTRunner(ast, self)


class _Device:
    DEFAULT = "CLANG"

    def __init__(self):
        self.opened = {}

    def __getitem__(self, name):
        return self.opened.setdefault(name, Compiled(name))


Device = _Device()
