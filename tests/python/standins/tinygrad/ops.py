"""LazyOps in tinygrad's form: a reduce's argument is its new shape, and real_size counts masked elements."""
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple

import numpy as np

UnaryOps = Enum("UnaryOps", "EXP2 LOG2 CAST SIN SQRT NEG")
BinaryOps = Enum("BinaryOps", "ADD SUB MUL DIV MAX MOD CMPLT CMPEQ XOR")
TernaryOps = Enum("TernaryOps", "MULACC WHERE")
ReduceOps = Enum("ReduceOps", "SUM MAX")
BufferOps = Enum("BufferOps", "LOAD CONST STORE")


class DType(NamedTuple):
    name: str
    np: type


float32, boolean = DType("float", np.float32), DType("bool", np.bool_)


class Variable:
    def __init__(self, expr, low, high):
        self.expr, self.min, self.max, self._val = expr, low, high, None

    @property
    def val(self):
        assert self._val is not None, "it is not bound"
        return self._val

    def render(self):
        return self.expr


def at(n, values):
    return values[n.expr] if isinstance(n, Variable) else n


@dataclass(frozen=True)
class View:
    shape: tuple
    strides: tuple
    offset: int = 0
    mask: Any = None


@dataclass(frozen=True)
class ShapeTracker:
    views: tuple

    @property
    def shape(self):
        return self.views[-1].shape

    def vars(self):
        return {n for v in self.views for n in v.shape if isinstance(n, Variable)}

    def real_size(self):
        v, most = self.views[-1], {n.expr: n.max for n in self.vars()}
        return 1 + v.offset + sum(max(0, (at(n, most) - 1) * s) for n, s in zip(v.shape, v.strides))

    def read(self, buffer, values):
        v, = self.views
        shape = tuple(at(n, values) for n in v.shape)
        index = np.indices(shape) if shape else np.zeros((0,), int)
        place = v.offset + sum(i * s for i, s in zip(index, v.strides)) if shape else np.int64(v.offset)
        inside = np.ones(shape, bool)
        for i, (begin, end) in zip(index, v.mask or ()):
            inside &= (begin <= i) & (i < end)
        return np.where(inside, buffer[np.where(inside, place, 0)], buffer.dtype.type(0))


def contiguous(shape):
    strides, step = [], 1
    for n in reversed(shape):
        strides.insert(0, 0 if isinstance(n, int) and n == 1 else step)
        step *= n.max if isinstance(n, Variable) else n
    return ShapeTracker((View(tuple(shape), tuple(strides)),))


class MemBuffer(NamedTuple):
    idx: int
    dtype: DType
    st: ShapeTracker


class ConstBuffer(NamedTuple):
    val: Any
    dtype: DType
    st: ShapeTracker


@dataclass(frozen=True)
class LazyOp:
    op: Any
    src: tuple = ()
    arg: Any = None

    def vars(self):
        own = self.arg.st.vars() if self.op in BufferOps else set()
        return sorted(own.union(*(s.vars() for s in self.src)), key=lambda v: v.expr)


_NUMPY = {"EXP2": np.exp2, "LOG2": np.log2, "SIN": np.sin, "SQRT": np.sqrt, "NEG": np.negative, "ADD": np.add,
          "SUB": np.subtract, "MUL": np.multiply, "DIV": np.divide, "CMPLT": np.less, "WHERE": np.where}


def evaluate(ast, buffers, values):
    """A kernel's output for the buffers' elements."""
    if ast.op is BufferOps.LOAD:
        return ast.arg.st.read(buffers[ast.arg.idx], values)
    if ast.op is BufferOps.CONST:
        return ast.arg.dtype.np(ast.arg.val)
    src = [evaluate(s, buffers, values) for s in ast.src]
    if ast.op in ReduceOps:
        axes = tuple(i for i, (n, m) in enumerate(zip(src[0].shape, ast.arg)) if n != m)
        return (np.sum if ast.op is ReduceOps.SUM else np.max)(src[0], axis=axes, keepdims=True)
    if ast.op is BinaryOps.MAX:  # 0 is larger than -0
        return np.where((src[0] == 0) & (src[1] == 0), src[0] + src[1], np.maximum(*src))
    return src[0] if ast.op is BufferOps.STORE else _NUMPY[ast.op.name](*src)
