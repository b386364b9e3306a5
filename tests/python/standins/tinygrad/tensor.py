"""float32 tensors, with a kernel for one or a few operations."""
import numpy as np

from .device import Buffer, Device
from .ops import (BinaryOps, BufferOps, ConstBuffer, LazyOp, MemBuffer, ReduceOps, ShapeTracker, TernaryOps, UnaryOps, View,
                  contiguous, float32)


class Tensor:
    def __init__(self, data, device=None):
        self.device = device or Device.DEFAULT
        self.shape = data.shape
        self.buffer = data.buffer if isinstance(data, Tensor) else Buffer(self.device, data.size, float32, data)

    def numpy(self):
        return self.buffer._buf.copy().reshape(self.shape)

    def _run(self, shape, build, *others):
        """A kernel over this and others, each loaded in its own shape or by a view."""
        inputs, out = [self, *others], Tensor.__new__(Tensor)
        out.device, out.shape = self.device, tuple(shape)
        out.buffer = Buffer(self.device, int(np.prod(shape, dtype=int)), float32)
        ast = LazyOp(BufferOps.STORE, (build(),), MemBuffer(0, float32, contiguous(out.shape)))
        Device[self.device].get_runner(ast).exec([out.buffer] + [t.buffer for t in inputs], {})
        return out

    def _load(self, idx, st=None):
        return LazyOp(BufferOps.LOAD, (), MemBuffer(idx, float32, st or contiguous(self.shape)))

    def _const(self, value, shape):
        return LazyOp(BufferOps.CONST, (), ConstBuffer(value, float32, ShapeTracker((View(shape, (0,) * len(shape)),))))

    def _unary(self, op, times=None, after=None):
        x = self._load(1)
        if times is not None:
            x = LazyOp(BinaryOps.MUL, (x, self._const(times, self.shape)))
        x = LazyOp(op, (x,))
        if after is not None:
            x = LazyOp(BinaryOps.MUL, (x, self._const(after, self.shape)))
        return self._run(self.shape, lambda: x)

    def _binary(self, op, y):
        return self._run(self.shape, lambda: LazyOp(op, (self._load(1), y._load(2))), y)

    def exp2(self): return self._unary(UnaryOps.EXP2)
    def log2(self): return self._unary(UnaryOps.LOG2)
    def sin(self): return self._unary(UnaryOps.SIN)
    def sqrt(self): return self._unary(UnaryOps.SQRT)
    def neg(self): return self._unary(UnaryOps.NEG)
    def exp(self): return self._unary(UnaryOps.EXP2, times=1.4426950408889634)
    def log(self): return self._unary(UnaryOps.LOG2, after=0.6931471805599453)
    def add(self, y): return self._binary(BinaryOps.ADD, y)
    def sub(self, y): return self._binary(BinaryOps.SUB, y)
    def mul(self, y): return self._binary(BinaryOps.MUL, y)
    def div(self, y): return self._binary(BinaryOps.DIV, y)
    def maximum(self, y): return self._binary(BinaryOps.MAX, y)
    def relu(self): return self._binary(BinaryOps.MAX, Tensor(np.zeros(self.shape, "f4"), self.device))
    def abs(self): return self._binary(BinaryOps.MAX, self.neg())
    def sigmoid(self): raise NotImplementedError("the stand-in has no sigmoid")
    def silu(self): raise NotImplementedError("the stand-in has no silu")
    def log_softmax(self, axis=-1): raise NotImplementedError("the stand-in has no log_softmax")
    def mean(self, axis=None): raise NotImplementedError("the stand-in has no mean")

    def _reduce(self, op, axis):
        axes = range(len(self.shape)) if axis is None else [axis % len(self.shape)]
        kept = tuple(1 if i in axes else n for i, n in enumerate(self.shape))
        out = self._run(kept, lambda: LazyOp(op, (self._load(1),), kept))
        out.shape = tuple(n for i, n in enumerate(self.shape) if i not in axes)
        return out

    def sum(self, axis=None): return self._reduce(ReduceOps.SUM, axis)
    def max(self, axis=None): return self._reduce(ReduceOps.MAX, axis)

    def matmul(self, y):
        (n, k), m = self.shape, y.shape[1]
        left, right = (ShapeTracker((View((n, m, k), strides),)) for strides in ((k, 0, 1), (0, 1, m)))
        product = LazyOp(BinaryOps.MUL, (self._load(1, left), y._load(2, right)))
        out = self._run((n, m, 1), lambda: LazyOp(ReduceOps.SUM, (product,), (n, m, 1)), y)
        out.shape = (n, m)
        return out

    def softmax(self, axis=-1):
        assert axis in (-1, 1)
        rows, columns = self.shape
        wide = ShapeTracker((View((rows, columns), (1, 0)),))
        most = self.max(axis)
        off = LazyOp(BinaryOps.SUB, (self._load(1), most._load(2, wide)))
        e = self._run(self.shape, lambda: LazyOp(UnaryOps.EXP2, (LazyOp(BinaryOps.MUL, (off, self._const(
            1.4426950408889634, self.shape))),)), most)
        total = e.sum(axis)
        return e._run(self.shape, lambda: LazyOp(BinaryOps.DIV, (e._load(1), total._load(2, wide))), total)

    def pad(self, before, after):
        """Zero padding of a vector: a mask, whose elements tinygrad's real_size counts."""
        n, = self.shape
        st = ShapeTracker((View((before + n + after,), (1,), -before, ((before, before + n),)),))
        chosen = LazyOp(TernaryOps.WHERE, (LazyOp(BinaryOps.CMPLT, (self._load(1, st), self._load(1, st))),
                                           self._load(1, st), self._load(1, st)))
        return self._run((before + n + after,), lambda: chosen)
