"""tinygrad.ops: the enumerations of operations, LazyOp, and the cost of a kernel.

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
from typing import Any, NamedTuple, Union

from touchstone._core import symbolic as _symbolic, tensor as _tensor, view as _view
from touchstone._core.kernel import Kernel

__all__ = ["BinaryOps", "BufferOps", "ConstBuffer", "FlopCounter", "GlobalCounters", "LazyOp", "LoadOps", "MemBuffer", "MovementOps", "Op",
           "OpType", "ReduceOps", "ScheduleItem", "TernaryOps", "UnaryOps", "get_lazyop_info", "to_kernel", "vars_from_ast"]


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


Op = Union[UnaryOps, BinaryOps, ReduceOps, MovementOps, LoadOps, TernaryOps, BufferOps]
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


def vars_from_ast(ast):
    """The variables of a LazyOp, ours or tinygrad's own, by name."""
    return ast.vars()


_EXTENDED = {"half": "float16", "float": "float32", "double": "float64", "char": "int8", "uchar": "uint8", "short": "int16",
             "ushort": "uint16", "int": "int32", "uint": "uint32", "long": "int64", "ulong": "uint64",
             "unsigned char": "uint8", "unsigned short": "uint16", "unsigned int": "uint32", "unsigned long": "uint64",
             "__bf16": "bfloat16"}


def _dtype(given):
    name = str(getattr(given, "name", given))
    return _EXTENDED.get(name, name)


# The accumulator of a sum, if it differs from the type: integer sums wrap in either.
_ACCUMULATORS = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}


def _number(value, dtype):
    value = value.item() if hasattr(value, "item") else value
    if dtype == "bool":
        return "true" if value else "false"
    return repr(float(value)) if "float" in dtype else repr(int(value))


def _entry(n):
    return n if isinstance(n, int) else n.render()


def _value_of(variable):
    return variable._val if hasattr(variable, "_val") else variable.val


def _views(st):
    st = st.unbind()[0] if any(_value_of(v) is not None for v in st.vars()) else st
    return [{"shape": [_entry(n) for n in v.shape], "strides": [_entry(n) for n in v.strides], "offset": _entry(v.offset),
             "mask": None if v.mask is None else [[_entry(a), _entry(b)] for a, b in v.mask]} for v in st.views]


def to_kernel(ast):
    """The kernel of a LazyOp, ours or tinygrad's own, whose root is a STORE. Raises touchstone.AstError, ParseError."""
    writer, variables = _Writer.of(ast), _limits(ast)
    writer.place(ast)
    text = {"touchstone_kernel": 1, **({"variables": variables} if variables else {})}
    text["buffers"] = [{"idx": i, "dtype": dtype, "size": size} for i, (dtype, size) in sorted(writer.buffers.items())]
    return Kernel.from_json(_json.dumps({**text, "nodes": writer.nodes}))


def _limits(ast):
    return {v.expr: [v.min, v.max] for v in ast.vars()}


class _Writer:
    """The nodes of a kernel.json, operands first."""

    @staticmethod
    def of(ast):
        return _Writer({name: _symbolic.Variable(name, *ends) for name, ends in _limits(ast).items()})

    def __init__(self, variables):
        self.variables, self.nodes, self.shapes, self.places, self.buffers = variables, [], [], {}, {}

    def place(self, op):
        if op not in self.places:
            src = [self.place(s) for s in op.src]
            node, shape = self.node(op, src)
            self.places[op] = len(self.nodes)
            self.nodes.append({**node, "id": len(self.nodes)})
            self.shapes.append(shape)
        return self.places[op]

    def real_size(self, views):
        """The elements up to the last one read; tinygrad also counts masked ones."""
        def entry(n):
            return n if isinstance(n, int) else _symbolic.parse(n, self.variables)

        def entries(ns):
            return [entry(n) for n in ns]
        size = _view.ShapeTracker([
            _view.View(entries(v["shape"]), entries(v["strides"]), entry(v["offset"]),
                       None if v["mask"] is None else [tuple(entries(ends)) for ends in v["mask"]]) for v in views]).real_size()
        return size if isinstance(size, int) else size.max

    def node(self, op, src):
        dtype, kind, name, arg = self.nodes[src[-1]]["dtype"] if src else None, type(op.op).__name__, op.op.name, None
        shape = self.shapes[src[0]] if src else None
        if kind == "BufferOps":
            dtype, views, shape = _dtype(op.arg.dtype), _views(op.arg.st), tuple(op.arg.st.shape)
            if name == "CONST":
                arg = {"value": _number(op.arg.val, dtype), "views": views}
            else:
                arg = {"buffer": op.arg.idx, "views": views}
                size = max(self.real_size(views), self.buffers.get(op.arg.idx, (dtype, 0))[1])
                self.buffers[op.arg.idx] = (dtype, size)
        elif name == "CAST":
            to, bitcast = op.arg if isinstance(op.arg, tuple) else (op.arg, False)
            dtype, arg = _dtype(to), {"bitcast": bool(bitcast)}
        elif kind == "ReduceOps":
            axes = _axes(op.arg, shape)
            arg = {"axes": axes, "accumulator": _ACCUMULATORS.get(dtype, dtype) if name == "SUM" else dtype}
            name, shape = "REDUCE_" + name, tuple(1 if i in axes else n for i, n in enumerate(shape))
        elif name in ("CMPLT", "CMPEQ"):
            dtype = "bool"
        node = {"op": name, "dtype": dtype, "src": src}
        return (node if arg is None else {**node, "arg": arg}), shape


def _axes(arg, shape):
    """The reduced axes: 0.8 stores the new shape, later versions the axes, which include 0 if they are all."""
    if len(arg) < len(shape) or any(isinstance(n, int) and n == 0 for n in arg):
        return sorted(arg)
    return [i for i, (n, m) in enumerate(zip(shape, arg)) if n != m]


class FlopCounter:
    """shape, dtype, flops, and mem: bytes of each buffer."""

    def __init__(self, shape, dtype, flops, mem):
        self.shape, self.dtype, self.flops, self.mem = shape, dtype, flops, mem

    @property
    def mem_estimate(self):
        return sum(self.mem.values())

    def consume_flops(self):
        """Returns the flops and resets them to 0."""
        flops, self.flops = self.flops, 0
        return flops


def get_lazyop_info(ast):
    """The cost of a LazyOp: one operation per element that an elementwise operation produces or a reduce consumes."""
    stored = ast.op.name == "STORE"
    kernel = to_kernel(ast if stored else _stored(ast))
    ops, mem = kernel.cost
    return FlopCounter(kernel.shape, kernel.dtype, ops, {i: n for i, n in mem.items() if stored or i != 0})


def _stored(ast):
    from .shape.shapetracker import ShapeTracker
    writer = _Writer.of(ast)
    at = writer.place(ast)
    return LazyOp(BufferOps.STORE, (ast,), MemBuffer(0, writer.nodes[at]["dtype"], ShapeTracker.from_shape(writer.shapes[at])))


class _Counters(type):
    def __setattr__(cls, name, value):
        """Counting goes on from the value that is set."""
        if name not in _COUNTERS:
            raise AttributeError(f"GlobalCounters has no {name!r}; its counters are {', '.join(_COUNTERS)}")
        _offsets[name] = value - _tensor.counters()[_COUNTERS[name]]


_COUNTERS = {"kernel_count": "kernels", "global_ops": "ops", "global_mem": "mem", "time_sum_s": "seconds", "mem_used": "mem_used"}
_offsets: dict = {}
for _name in _COUNTERS:
    setattr(_Counters, _name, property(
        lambda cls, name=_name: _tensor.counters()[_COUNTERS[name]] + _offsets.get(name, 0)))


class GlobalCounters(metaclass=_Counters):
    """Counts work on touchstone's devices: kernel_count, global_ops, global_mem, time_sum_s; and mem_used, which reset keeps."""

    @staticmethod
    def reset():
        _tensor.reset_counters()
        _offsets.clear()
