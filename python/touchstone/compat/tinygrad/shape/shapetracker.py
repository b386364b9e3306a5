"""tinygrad.shape.shapetracker: ShapeTracker.

>>> st = ShapeTracker.from_shape((2, 3)).permute((1, 0)).reshape((6,))
>>> len(st.views), st.expr_node()[0].render()
(2, '(((idx//2)*-5)+(idx*3))')
>>> ShapeTracker.from_shape((4, 4)).shrink(((1, 3), (0, 4))).real_strides()
(4, 1)
"""
import math

from touchstone._core import view as _core

from ..ops import MovementOps
from .symbolic import Node, NumNode, Variable, sint
from .view import View, _all_in, _in, _Known, _merge_dims, _Moves

__all__ = ["ShapeTracker", "View", "expr_idxs", "expr_node", "expr_node_mask", "get_contraction", "idxs_to_idx", "merge_views",
           "simplify"]


def expr_node(view, idx=None):
    """The element index of a view at a flat index."""
    return ShapeTracker((view,))._at(Variable("idx", 0, view.size() - 1) if idx is None else idx)[0]


def expr_node_mask(view, idx, valid=None):
    """Whether a view has an element at a flat index; and valid."""
    at = ShapeTracker((view,))._at(idx)[1]
    return at if valid is None else Node.ands([valid, at])


def expr_idxs(view, idxs):
    """The element index of a view at one expression per axis."""
    return Node.sum([_node(view.offset), *(_node(i) * st for i, st in zip(idxs, view.strides))])


def idxs_to_idx(shape, idxs):
    """The flat index of one expression per axis."""
    assert len(idxs) == len(shape), f"{len(idxs)} expressions for {len(shape)} axes"
    return Node.sum([_node(i) * math.prod(shape[d + 1:]) for d, i in enumerate(idxs)])


def merge_views(inner, outer):
    """One view that reads the inner one through the outer one, or None."""
    return inner + outer


def simplify(views):
    """The views with as many as possible merged."""
    return ShapeTracker(views).simplify().views


def _node(n):
    return NumNode(n) if isinstance(n, int) else n


def get_contraction(old_shape, new_shape):
    """For each new axis the old axes that form it, or None."""
    return _core.get_contraction(_all_in(old_shape), _all_in(new_shape))


class ShapeTracker(_Moves):
    """A stack of views, the last one outermost. Immutable."""
    __slots__ = ("views",)

    def __init__(self, views):
        self.views = tuple(views)

    @staticmethod
    def from_shape(shape):
        return ShapeTracker((View.create(tuple(shape)),))

    @property
    def _moving(self):
        return _core.ShapeTracker([v._view for v in self.views])

    def _known(self, *more):
        return _Known(*(v._known.variables.values() for v in self.views), *more)

    def _of(self, tracker, *more):
        known, views = self._known(*more), []
        for view in tracker.views:
            made = View.__new__(View)
            made._view, made._known = view, known
            views.append(made)
        return ShapeTracker(views)

    shape = property(lambda self: self.views[-1].shape)
    contiguous = property(lambda self: len(self.views) == 1 and self.views[0].contiguous)

    size = property(lambda self: self.views[-1].size())

    def real_size(self):
        return self._moving.real_size()

    def vars(self):
        return {v for view in self.views for v in view.vars()}

    @property
    def var_vals(self):
        return dict(v.unbind() for v in self.vars() if v.val is not None)

    def unbind(self):
        unbound = [v.unbind() for v in self.views]
        return ShapeTracker(v for v, _ in unbound), {k: val for _, values in unbound for k, val in values.items()}

    def real_strides(self, ignore_valid=False):
        return tuple(None if s is None else self._known().out(s) for s in self._moving.real_strides(ignore_valid))

    def unit_stride_axes(self, ignore_valid=False):
        return [i for i, st in enumerate(self.real_strides(ignore_valid)) if st == 1]

    def _indexed(self, pair, *more):
        known = self._known(*more)
        index, valid = map(known.out, pair)
        return _node(index), _node(valid)

    def _at(self, idx):
        """(element index, validity) at a flat index, which counts from 0 again past the last element."""
        size = math.prod(self.shape)
        idx = idx % size if isinstance(size, int) and size > 1 else idx if size != 1 else NumNode(0)
        return self._indexed(self._moving.expr_node(_in(idx)), [idx])

    def expr_idxs(self, idxs=None):
        """(element index, validity) for one expression per axis, by default idx0, ..."""
        if idxs is None:
            return _or_minus_one(self._indexed(self._moving.expr_idxs()))
        return _or_minus_one(self._indexed(self._moving.expr_idxs(_all_in(idxs)), idxs))

    def expr_node(self, idx="idx"):
        """The same for one flat index, which counts from 0 again past the last element."""
        if isinstance(idx, str):
            size = self.size
            idx = NumNode(0) if size <= 1 else Variable(idx, 0, size - 1)
        return _or_minus_one(self._at(idx))

    def axis_is_masked(self, axis):
        return self._moving.axis_is_masked(axis)

    def simplify(self):
        return self._of(self._moving.simplify())

    def _with_last(self, view):
        return ShapeTracker((*self.views[:-1], view))

    def reshape(self, new_shape):
        """Of the last view alone, which gets a neighbour if no single view expresses it; simplify() merges more."""
        view = self.views[-1].reshape(new_shape)
        return ShapeTracker((*self.views, View.create(tuple(new_shape)))) if view is None else self._with_last(view)

    def invert(self, out_shape):
        """The tracker of that shape that undoes this one, or None, also where a view drops or repeats elements."""
        below = [tuple(out_shape), *(v.shape for v in self.views[:-1])]
        if any(math.prod(e - b for b, e in v.mask or tuple((0, n) for n in v.shape)) != math.prod(shape)
               for v, shape in zip(self.views, below)):
            return None
        inverse = self._moving.invert()
        return None if inverse is None else self._of(inverse).reshape(out_shape)

    def to_movement_ops(self):
        """(MovementOps, argument) that build it from a flat buffer: for each view AS_STRIDED, PAD of axes with a stride,
        EXPAND of the others, PAD of these."""
        return [step for view in self.views for step in _steps(view)]

    def __add__(self, outer):
        """Reads this tracker through the outer one. The views of the outer one join one by one, each merged if possible."""
        made = self
        for view in outer.views:
            made = ShapeTracker((*made.views, view)).simplify()
        return made

    def __eq__(self, other):
        return isinstance(other, ShapeTracker) and self.views == other.views

    def __hash__(self):
        return hash(self.views)

    def __repr__(self):
        return f"ShapeTracker(views={self.views})"

    def __reduce__(self):
        return ShapeTracker, (self.views,)


def _or_minus_one(pair):
    return (NumNode(-1), pair[1]) if pair[1] == 0 else pair


def _steps(view):
    mask = view.mask or tuple((0, n) for n in view.shape)
    inside = tuple(end - begin for begin, end in mask)
    first = 0 if any(n == 0 for n in inside) else view.offset + sum(b * st for (b, _), st in zip(mask, view.strides))
    yield MovementOps.AS_STRIDED, (tuple(1 if st == 0 else n for n, st in zip(inside, view.strides)), view.strides, first)
    pads = [(begin, n - end) for (begin, end), n in zip(mask, view.shape)]
    strided = tuple((0, 0) if st == 0 else p for p, st in zip(pads, view.strides))
    others = tuple(p if st == 0 else (0, 0) for p, st in zip(pads, view.strides))
    if any(p != (0, 0) for p in strided):
        yield MovementOps.PAD, strided
    if any(n != 1 and st == 0 for n, st in zip(inside, view.strides)):
        yield MovementOps.EXPAND, tuple(n + b + e for n, (b, e) in zip(inside, strided))
    if any(p != (0, 0) for p in others):
        yield MovementOps.PAD, others
