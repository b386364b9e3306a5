"""tinygrad.ops: the enumerations of operations, LazyOp, and what a kernel costs.

>>> from touchstone.compat.tinygrad.shape.shapetracker import ShapeTracker
>>> st = ShapeTracker.from_shape((4,))
>>> x = LazyOp(BufferOps.LOAD, (), MemBuffer(1, "float32", st))
>>> ast = LazyOp(BufferOps.STORE, (LazyOp(BinaryOps.ADD, (x, x)),), MemBuffer(0, "float32", st))
>>> get_lazyop_info(ast).flops, to_kernel(ast).name
(4, 'E_4')
"""
from __future__ import annotations

import json as _json
from enum import Enum, auto
from typing import Any, NamedTuple

from touchstone._core.kernel import Kernel

__all__ = ["BinaryOps", "BufferOps", "ConstBuffer", "FlopCounter", "LazyOp", "LoadOps", "MemBuffer", "MovementOps", "Op",
           "OpType", "ReduceOps", "ScheduleItem", "TernaryOps", "UnaryOps", "get_lazyop_info", "to_kernel"]


class UnaryOps(Enum):
    EXP2 = auto(); LOG2 = auto(); CAST = auto(); SIN = auto(); SQRT = auto(); NEG = auto(); RECIP = auto(); NOOP = auto()


class BinaryOps(Enum):
    ADD = auto(); SUB = auto(); MUL = auto(); DIV = auto(); MAX = auto(); MOD = auto(); CMPLT = auto(); CMPEQ = auto()
    XOR = auto()


class TernaryOps(Enum):
    MULACC = auto(); WHERE = auto()


class ReduceOps(Enum):
    SUM = auto(); MAX = auto()


class BufferOps(Enum):
    LOAD = auto(); CONST = auto(); STORE = auto()


class MovementOps(Enum):
    RESHAPE = auto(); PERMUTE = auto(); EXPAND = auto(); PAD = auto(); SHRINK = auto(); STRIDE = auto(); AS_STRIDED = auto()


class LoadOps(Enum):
    EMPTY = auto(); CONST = auto(); COPY = auto(); CONTIGUOUS = auto(); CUSTOM = auto()


Op = UnaryOps | BinaryOps | ReduceOps | MovementOps | LoadOps | TernaryOps | BufferOps
OpType = type


class MemBuffer(NamedTuple):
    """Buffer idx, 0 the output, of a dtype (its name, or an object with .name) through a ShapeTracker."""
    idx: int
    dtype: Any
    st: Any


class ConstBuffer(NamedTuple):
    val: Any
    dtype: Any
    st: Any


class ScheduleItem(NamedTuple):
    ast: Any
    out: Any
    inputs: tuple
    var_vals: dict


class LazyOp:
    """op of src, LazyOps, with an argument. Immutable; equal by structure."""
    __slots__ = ("op", "src", "arg", "_hash")

    def __init__(self, op, src=(), arg=None):
        self.op, self.src, self.arg = op, tuple(src), arg
        self._hash = hash((op, self.src, arg))

    @property
    def hash(self):
        return self._hash

    def __hash__(self):
        return self._hash

    def __eq__(self, other):
        return self is other or (isinstance(other, LazyOp) and self._hash == other._hash and self.op is other.op
                                 and self.arg == other.arg and self.src == other.src)

    def __repr__(self):
        return f"LazyOp(op={self.op}, src={self.src}, arg={self.arg})"

    @property
    def lazyops(self):
        """All nodes, each once, users first."""
        found = {self: None}
        for s in self.src:
            found.update(dict.fromkeys(s.lazyops))
        return list(found)

    get_lazyops = lambda self: self.lazyops

    def vars(self):
        found = {v for n in self.lazyops if n.op in BufferOps for v in n.arg.st.vars()}
        return sorted(found, key=lambda v: str(v.expr))


_EXTENDED = {"half": "float16", "float": "float32", "double": "float64", "char": "int8", "uchar": "uint8", "short": "int16",
             "ushort": "uint16", "int": "int32", "uint": "uint32", "long": "int64", "ulong": "uint64",
             "unsigned char": "uint8", "unsigned short": "uint16", "unsigned int": "uint32", "unsigned long": "uint64",
             "__bf16": "bfloat16"}


def _dtype(given):
    name = str(getattr(given, "name", given))
    return _EXTENDED.get(name, name)


# In which a sum is taken where none is named.
_ACCUMULATORS = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32",
                 "float16": "float32", "bfloat16": "float32"}


def _number(value, dtype):
    value = value.item() if hasattr(value, "item") else value
    if dtype == "bool":
        return "true" if value else "false"
    return repr(float(value)) if "float" in dtype else repr(int(value))


def _entry(n):
    return n if isinstance(n, int) else n.render()


def _views(st):
    st = st.unbind()[0] if any(v.val is not None for v in st.vars()) else st
    return [{"shape": [_entry(n) for n in v.shape], "strides": [_entry(n) for n in v.strides], "offset": _entry(v.offset),
             "mask": None if v.mask is None else [[_entry(a), _entry(b)] for a, b in v.mask]} for v in st.views]


def to_kernel(ast):
    """The kernel of a LazyOp, ours or tinygrad's own, whose root is a STORE. Throws touchstone.AstError, ParseError."""
    nodes, places, buffers = [], {}, {}

    def place(op):
        if op not in places:
            nodes.append(_node(op, [place(s) for s in op.src], nodes, buffers))
            nodes[-1]["id"] = places[op] = len(nodes) - 1
        return places[op]

    place(ast)
    text = {"touchstone_kernel": 1}
    variables = {v.expr: [v.min, v.max] for v in ast.vars()}
    if variables:
        text["variables"] = variables
    text["buffers"] = [{"idx": i, "dtype": dtype, "size": size} for i, (dtype, size) in sorted(buffers.items())]
    return Kernel.from_json(_json.dumps({**text, "nodes": nodes}))


def _node(op, src, nodes, buffers):
    dtype, kind, name, arg = nodes[src[-1]]["dtype"] if src else None, type(op.op).__name__, op.op.name, None
    if kind == "BufferOps" and name != "CONST":
        dtype, arg = _dtype(op.arg.dtype), {"buffer": op.arg.idx, "views": _views(op.arg.st)}
        size = max(op.arg.st.real_size(), buffers.get(op.arg.idx, (dtype, 0))[1])
        buffers[op.arg.idx] = (dtype, size)
    elif kind == "BufferOps":
        dtype = _dtype(op.arg.dtype)
        arg = {"value": _number(op.arg.val, dtype), "views": _views(op.arg.st)}
    elif name == "CAST":
        to, bitcast = op.arg if isinstance(op.arg, tuple) else (op.arg, False)
        dtype, arg = _dtype(to), {"bitcast": bool(bitcast)}
    elif kind == "ReduceOps":
        accumulator = _ACCUMULATORS.get(dtype, dtype) if name == "SUM" else dtype
        name = "REDUCE_" + name
        arg = {"axes": sorted(op.arg), "accumulator": accumulator}
    elif name in ("CMPLT", "CMPEQ"):
        dtype = "bool"
    node = {"op": name, "dtype": dtype, "src": src}
    return node if arg is None else {**node, "arg": arg}


class FlopCounter:
    """shape, dtype, flops, and mem: bytes of each buffer."""

    def __init__(self, shape, dtype, flops, mem):
        self.shape, self.dtype, self.flops, self.mem = shape, dtype, flops, mem

    @property
    def mem_estimate(self):
        return sum(self.mem.values())


def get_lazyop_info(ast):
    """What a kernel costs: an operation for each element that an elementwise operation makes or a reduce takes."""
    kernel = to_kernel(ast)
    ops, mem = kernel.cost
    return FlopCounter(kernel.shape, kernel.dtype, ops, mem)
