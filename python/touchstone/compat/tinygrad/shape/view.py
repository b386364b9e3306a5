"""tinygrad.shape.view: View.

>>> View.create((2, 3)).permute((1, 0)).strides
(1, 3)
>>> View.create((4,)).pad(((1, 2),)).mask
((1, 5),)
"""
import math

from touchstone import Error as _Error
from touchstone._core import view as _core

from .symbolic import Node, Variable, _core_of, _wrap, sint

__all__ = ["View", "canonicalize_strides", "strides_for_shape"]


def _in(value):
    return _core_of(value) if isinstance(value, Node) else value


def _all_in(values):
    return tuple(map(_in, values))


def _pairs_in(pairs):
    return None if pairs is None else tuple((_in(a), _in(b)) for a, b in pairs)


class _Known:
    """The Variable objects for the core's variables; keeps their bindings."""

    def __init__(self, *groups):
        self.variables = {v._node: v for group in groups for n in group if isinstance(n, Node) for v in n.vars()}

    def out(self, value):
        if isinstance(value, int):
            return value
        known = {v: self.variables.get(v) or Variable(v.name, v.min, v.max) for v in value.variables}
        return _wrap(value, known)

    def all_out(self, values):
        return tuple(map(self.out, values))


def canonicalize_strides(shape, strides):
    """Strides with 0 for the axes of size 1."""
    return tuple(0 if n == 1 else st for n, st in zip(shape, strides))


def strides_for_shape(shape):
    """The strides, in elements, of a row-major array."""
    return View.create(tuple(shape)).strides


def _merge_dims(shape, strides, mask=None):
    """The axes with neighbours merged where one stride walks both: (size, stride, size of the part whose stride is not 0)."""
    merged, loose = [], True  # loose: the axis before takes one position only
    for i, (n, st) in enumerate(zip(shape, strides)):
        if i and n == 1:
            continue
        if merged and (loose or merged[-1][1] == n * st):
            size, _, moving = merged.pop()
            merged.append((size * n, st, (n if loose else moving * n) if st != 0 else 0))
        else:
            merged.append((n, st, n if st != 0 else 0))
        loose = n == 1 if mask is None else mask[i][1] - mask[i][0] == 1
    return tuple(merged)


def _value(n):
    """The number that an entry of a shape is: itself, or at the values of its bound variables; None if some have none."""
    if not isinstance(n, Node):
        return n
    if any(v.val is None for v in n.vars()):
        return None
    at = n.substitute({v: v.val for v in n.vars()})
    return at.b if at.min == at.max else None


def _count(shape):
    values = [_value(n) for n in shape]
    return None if None in values else math.prod(values)


def _flat(pairs):
    return [] if pairs is None else [entry for pair in pairs for entry in pair]


class _Moves:
    """Movement of a view or tracker, with tinygrad's assertions. _moving: the core's; _of wraps the core's
    result."""
    __slots__ = ()

    def pad(self, arg):
        assert all(b >= 0 and e >= 0 for b, e in arg) and len(arg) == len(self.shape), f"invalid pad {arg}"
        return self._of(self._moving.pad(_pairs_in(arg)), _flat(arg))

    def shrink(self, arg):
        shape = self.shape
        assert len(arg) == len(shape), f"invalid shrink {arg} of {shape}"
        for n, b, e in ((_value(n), _value(b), _value(e)) for n, (b, e) in zip(shape, arg)):
            assert None in (n, b, e) or 0 <= b <= e <= n, f"invalid shrink {arg} of {shape}"
        try:
            return self._of(self._moving.shrink(_pairs_in(arg)), _flat(arg))
        except _Error:  # the bounds may leave the axis, by their ranges alone
            last = self if isinstance(self, View) else self.views[-1]
            if last.mask is not None or all(isinstance(n, int) for n in (*shape, *_flat(arg))):
                raise
            return self._with_last(View.create(
                tuple(e - b for b, e in arg), last.strides,
                sum((b * st for (b, _), st in zip(arg, last.strides)), last.offset)))

    def expand(self, new_shape):
        shape = self.shape
        if len(new_shape) != len(shape):
            raise ValueError(f"expand {shape} to {new_shape}: different numbers of axes")
        assert all(n == m or n == 1 for n, m in zip(shape, new_shape)), f"invalid expand of {shape} to {new_shape}"
        return self._of(self._moving.expand(_all_in(new_shape)), new_shape)

    def permute(self, axis):
        assert sorted(axis) == list(range(len(self.shape))), f"invalid permute {axis} of {self.shape}"
        return self._of(self._moving.permute(list(axis)))

    def stride(self, mul):
        assert all(isinstance(x, int) and x != 0 for x in mul), f"invalid stride {mul} for {self.shape}"
        return self._of(self._moving.stride(list(mul)))


class View(_Moves):
    """shape, strides in elements, offset, mask (begin, end) of each axis, and whether it is contiguous. Immutable."""
    __slots__ = ("_view", "_known")

    def __init__(self, shape, strides, offset=0, mask=None, contiguous=None):
        self._view = _core.View(_all_in(shape), _all_in(strides), _in(offset), _pairs_in(mask))
        self._known = _Known(shape, strides, [offset], _flat(mask))

    @staticmethod
    def create(shape, strides=None, offset=0, mask=None):
        made = View.__new__(View)
        made._view = _core.View(_all_in(shape), None if strides is None else _all_in(strides), _in(offset),
                                _pairs_in(mask))
        made._known = _Known(shape, strides or (), [offset], _flat(mask))
        return made

    def _of(self, view, *more):
        if view is None:
            return None
        made = View.__new__(View)
        made._view, made._known = view, _Known(self._known.variables.values(), *more)
        return made

    shape = property(lambda self: self._known.all_out(self._view.shape))
    strides = property(lambda self: self._known.all_out(self._view.strides))
    offset = property(lambda self: self._known.out(self._view.offset))
    contiguous = property(lambda self: self._view.is_contiguous)
    _moving = property(lambda self: self._view)

    @property
    def mask(self):
        mask = self._view.mask
        return None if mask is None else tuple(map(self._known.all_out, mask))

    def size(self):
        """The number of elements with every variable at its largest value."""
        return math.prod(n.max if isinstance(n, Node) else n for n in self.shape)

    def _with_last(self, view):
        return view

    def reshape(self, new_shape):
        """None if no single view expresses it. Sizes of bound variables are compared at their values."""
        if -1 in new_shape:
            raise ValueError(f"reshape to {new_shape}: sizes must not be negative")
        shape, refused = self.shape, f"cannot reshape {self} to {new_shape}"
        if all(isinstance(n, int) for n in (*shape, *new_shape)):
            view = self._view.reshape(_all_in(new_shape))
            return self._of(self._view + _core.View(new_shape) if view is None else view)
        if shape == tuple(new_shape):
            return self
        counts, numbers = (_count(shape), _count(new_shape)), all(isinstance(n, int) for n in shape)
        assert not numbers or all(isinstance(n, (int, Variable)) for n in new_shape), \
            f"{refused}: a size is neither a number nor a variable"
        if None not in counts and counts[0] != counts[1]:
            raise ValueError(f"{refused}: {counts[0]} elements, {counts[1]} wanted")
        if None not in counts and self.contiguous:
            return View.create(tuple(new_shape))
        if None not in counts and numbers:
            if tuple(map(_value, new_shape)) != shape:
                raise ValueError(f"{refused}: variables may only replace sizes of equal value")
            return View(tuple(new_shape), self.strides, self.offset, self.mask)
        try:
            return self._of(self._view.reshape(_all_in(new_shape)), new_shape)
        except _Error:  # the sizes are equal at these values only
            if None in counts:
                raise
            return None

    def invert(self, out_shape):
        return self._of(self._view.invert(_all_in(out_shape)), out_shape)

    def minify(self):
        return self._of(self._view.minify())

    def __add__(self, outer):
        return self._of(self._view + outer._view, outer._known.variables.values())

    def vars(self):
        return {v for n in (*self.shape, *self.strides, self.offset, *_flat(self.mask)) if isinstance(n, Node)
                for v in n.vars()}

    def unbind(self):
        """The view with all bindings removed, and {variable: value}."""
        values = dict(v.unbind() for v in self.vars() if v.val is not None)
        made = View.__new__(View)
        made._view, made._known = self._view, _Known(values, (v for v in self.vars() if v.val is None))
        return made, values

    def __eq__(self, other):
        return isinstance(other, View) and self._view == other._view

    def __hash__(self):
        return hash(self._view)

    def __repr__(self):
        return (f"View(shape={self.shape}, strides={self.strides}, offset={self.offset}, mask={self.mask}, "
                f"contiguous={self.contiguous})")

    def __reduce__(self):
        return View, (self.shape, self.strides, self.offset, self.mask)
