import itertools
import pickle

import numpy as np
import pytest

import touchstone
from touchstone.symbolic import Variable
from touchstone.view import ShapeTracker, View, get_contraction


def read(tracker, size):
    """The elements that a tracker reads from 0, 1, 2, ...; -1 is padding."""
    buffer = np.arange(size)
    out = np.empty(tracker.shape, int)
    for index in itertools.product(*map(range, tracker.shape)):
        at = tracker.at(index)
        out[index] = -1 if at is None else buffer[at]
    return out


def test_movement_is_numpy_s():
    t, x = ShapeTracker.from_shape((2, 3, 4)), np.arange(24).reshape(2, 3, 4)
    pairs = [(t.permute([2, 0, 1]), x.transpose(2, 0, 1)), (t.reshape([4, 6]), x.reshape(4, 6)),
             (t.shrink([(0, 1), (1, 3), (2, 4)]), x[0:1, 1:3, 2:4]), (t.stride([1, -1, 2]), x[:, ::-1, ::2]),
             (t.flip([-1]), x[:, :, ::-1]), (t.permute([2, 0, 1]).reshape([8, 3]), x.transpose(2, 0, 1).reshape(8, 3)),
             (t.pad([(0, 0), (1, 0), (0, 2)]), np.pad(x, ((0, 0), (1, 0), (0, 2)), constant_values=-1)),
             (t.reshape([2, 1, 12]).expand([2, 5, 12]), np.broadcast_to(x.reshape(2, 1, 12), (2, 5, 12))),
             (t.as_strided([3, 4], [1, 2], 5), np.lib.stride_tricks.as_strided(x.reshape(-1)[5:], (3, 4), (8, 16)))]
    for tracker, wanted in pairs:
        assert (read(tracker, 24) == wanted).all()
        assert (read(tracker.simplify(), 24) == wanted).all()


def test_expressions_say_what_is_read():
    t = ShapeTracker.from_shape((4, 6)).pad([(1, 0), (0, 0)]).permute([1, 0]).reshape([5, 6])
    index, valid = t.expr_idxs()
    for i, j in itertools.product(range(5), range(6)):
        at = {"idx0": i, "idx1": j}
        assert (index.evaluate(at) if valid.evaluate(at) else None) == t.at((i, j))
    flat, ok = t.expr_node()
    assert [flat.evaluate({"idx": k}) if ok.evaluate({"idx": k}) else None for k in range(30)] == \
        [t.at(divmod(k, 6)) for k in range(30)]


def test_views_are_values():
    v = View((2, 3), strides=(3, 1), offset=4, mask=[(0, 2), (1, 3)])
    assert v == View((2, 3), (3, 1), 4, [(0, 2), (1, 3)]) and hash(v) == hash(pickle.loads(pickle.dumps(v)))
    assert v.shape == (2, 3) and v.strides == (3, 1) and v.offset == 4 and v.mask == ((0, 2), (1, 3))
    t = ShapeTracker([View((4,)), View((2, 2), (2, 1))])
    assert pickle.loads(pickle.dumps(t)) == t and len(t.views) == 2 and len(t.simplify().views) == 1
    assert v + View((1, 1)) is None or isinstance(v + View((1, 1)), View)


def test_inverses_strides_and_operations():
    t = ShapeTracker.from_shape((2, 3)).permute([1, 0])
    inverse = t.invert()
    assert [inverse.reshape([6]).at((i,)) for i in range(6)] == [[t.at(divmod(k, 2)) for k in range(6)].index(i) for i in range(6)]
    assert t.real_strides() == (1, 3) and t.unit_stride_axes() == [0]
    again = ShapeTracker.from_shape((t.real_size(),))
    for name, argument in t.to_movement_ops():
        again = getattr(again, name)(*argument) if name == "as_strided" else getattr(again, name)(argument)
    assert (read(again, 6) == read(t, 6)).all()
    assert get_contraction([2, 3, 4], [6, 4]) == [[0, 1], [2]] and get_contraction([2, 3], [4]) is None


def test_symbolic_sizes():
    n = Variable("n", 1, 8)
    t = ShapeTracker.from_shape((n, 4)).permute([1, 0])
    assert t.shape == (4, n) and t.size == n * 4 and [v.name for v in t.vars()] == ["n"]
    assert t.bind({"n": 3}) == ShapeTracker.from_shape((3, 4)).permute([1, 0])
    assert pickle.loads(pickle.dumps(t)) == t


def test_pictures():
    svg = ShapeTracker.from_shape((2, 3)).pad([(1, 0), (0, 0)])._repr_svg_()
    assert svg.startswith("<svg") and svg.count("<rect") == 9 and svg.count("#ddd") == 3
    assert "<svg" in View((10**6, 10**6))._repr_svg_() and "<svg" in View(())._repr_svg_()


@pytest.mark.parametrize("wrong, kind", [
    (lambda t: t.reshape([7]), touchstone.ShapeError), (lambda t: t.reshape([7]), ValueError),
    (lambda t: t.permute([0, 0]), touchstone.ShapeError), (lambda t: t.permute([0, 5]), touchstone.ShapeError),
    (lambda t: t.pad([(-1, 0), (0, 0)]), touchstone.ShapeError), (lambda t: t.pad([1, 2]), TypeError),
    (lambda t: t.shrink([(0, 9), (0, 1)]), touchstone.ShapeError), (lambda t: t.stride([0, 1]), touchstone.ShapeError),
    (lambda t: t.at((5, 0)), touchstone.ShapeError), (lambda t: t.at((0,)), touchstone.ShapeError),
    (lambda t: t.at((-1, 0)), touchstone.ShapeError), (lambda t: t.expand([3, 3]), touchstone.ShapeError),
    (lambda t: t.reshape("ab"), TypeError), (lambda t: t.reshape([2.0, 3]), TypeError), (lambda t: t + 3, TypeError),
    (lambda t: View((2**62, 2**62)), touchstone.Error), (lambda t: View((-1,)), touchstone.ShapeError),
    (lambda t: View((2, 3), (1,)), touchstone.ShapeError), (lambda t: ShapeTracker([]), touchstone.ShapeError),
    (lambda t: t.expr_idxs([1]), touchstone.ShapeError), (lambda t: t.as_strided([9], [1]), touchstone.ShapeError),
    (lambda t: t.axis_is_masked(9), touchstone.ShapeError)])
def test_what_is_wrong_is_an_exception(wrong, kind):
    with pytest.raises(kind):
        wrong(ShapeTracker.from_shape((2, 3)))
