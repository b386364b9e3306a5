import itertools
import pickle

import pytest

from touchstone.compat.tinygrad import ops
from touchstone.compat.tinygrad.shape import symbolic as s
from touchstone.compat.tinygrad.shape.shapetracker import ShapeTracker, get_contraction
from touchstone.compat.tinygrad.shape.symbolic import Node, NumNode, Variable
from touchstone.compat.tinygrad.shape.view import View


def agree(node, plain, *variables):
    """render() is Python with the plain expression's value, and the bounds hold."""
    text = node.render()
    for values in itertools.product(*(range(v.min, v.max + 1) for v in variables)):
        at = dict(zip((v.expr for v in variables), values))
        want = plain(*values)
        assert eval(text, {}, at) == want, (text, at)
        assert node.min <= want <= node.max
        assert s.sym_infer(node, dict(zip(variables, values))) == want


A, B, F = Variable("a", 0, 10), Variable("b", 0, 10), Variable("f", 0, 3)


@pytest.mark.parametrize("text", [
    "(a*40 + b)//20", "(a + b*10)%10", "(a*4 + f)//4", "(a*-1)//2", "(a - 5)%3", "a//3*3 + a%3", "a*b + f", "a//(f + 1)",
    "(a*12 + f)%(f + 13)", "7//(f + 8)", "-a - b", "3 - a*2", "(a + b*5)//4%3", "a//-3", "(a - b)//4", "a%(b + 11)"])
def test_arithmetic_is_python_s(text):
    agree(eval(text, {"a": A, "b": B, "f": F}), eval("lambda a, b, f: " + text), A, B, F)


@pytest.mark.parametrize("text", ["a < 3", "a <= b", "a*4 + f < 16", "a > 7", "a >= b*2", "a - b < 0", "a*3 > b", "a//2 < 3"])
def test_comparisons_are_python_s(text):
    agree(eval(text, {"a": A, "b": B, "f": F}), eval("lambda a, b, f: int(" + text + ")"), A, B, F)


def test_sums_and_conjunctions():
    agree(Node.sum([A, B * 2, NumNode(3)]), lambda a, b: a + 2*b + 3, A, B)
    agree(Node.ands([A < 5, B > 2]), lambda a, b: int(a < 5 and b > 2), A, B)
    assert Node.ands([]) == 1 and Node.sum([]) == 0 and isinstance(Node.sum([]), NumNode)
    agree(Node.ands([A < 5, F < 2]) * B, lambda a, f, b: int(a < 5 and f < 2) * b, A, F, B)


@pytest.mark.parametrize("node, text, kind", [
    ((A * 40 + B) // 20, "(a*2)", s.MulNode) if False else (A * 2, "(a*2)", s.MulNode), (A // 3, "(a//3)", s.DivNode),
    (A % 3, "(a%3)", s.ModNode), (A + 1, "(1+a)", s.SumNode), (A < 3, "(a<3)", s.LtNode), (A * 0, "0", NumNode),
    (A, "a", Variable), (A * B, "(a*b)", s.MulNode), (Node.ands([A < 3, F < 2]), "((a<3) and (f<2))", s.AndNode),
    ((A * 4 + F) // 4, "a", Variable), ((A + B * 10) % 10, "(a%10)", s.ModNode), ((A - 5) % 3, "((1+a)%3)", s.ModNode)])
def test_classes_and_texts(node, text, kind):
    assert node.render() == text and type(node) is kind


def test_parts_are_there():
    n = A * 3 + F
    assert sorted(p.render() for p in n.nodes) == ["(a*3)", "f"] and n.flat_components
    assert (A // 3).a == A and (A // 3).b == 3 and (A < 4).b == 4 and (A % 7).b == 7
    assert s.MulNode(A, 3) == A * 3 and s.SumNode([A, F]) == A + F and s.AndNode([A < 1]) == (A < 1)


def test_variables():
    assert isinstance(Variable("x", 3, 3), NumNode) and Variable("x", 3, 3) == 3
    for low, high in ((-1, 3), (4, 3)):
        with pytest.raises(AssertionError):
            Variable("x", low, high)
    v = Variable("i", 1, 10)
    assert v.bind(4) is v and v.val == 4 and v.unbind() == (Variable("i", 1, 10), 4)
    with pytest.raises(AssertionError):
        v.bind(5)
    with pytest.raises(AssertionError):
        Variable("i", 1, 10).unbind()
    with pytest.raises(AssertionError):
        NumNode(3).bind(4)
    assert (v * 2).vars() == {v} and (v * 2) != (Variable("i", 1, 10) * 2) and (v * 2).unbind()[0] == Variable("i", 1, 10) * 2
    assert Variable("a", 0, 10) != Variable("a", 0, 11) and len({Variable("a", 0, 10), Variable("a", 0, 10)}) == 1
    assert str(A) == "<a[0-10]>" and eval(repr(A * 3 + F), vars(s)) == A * 3 + F
    for n in (A, A * 3 + F, NumNode(3), v, v * 2):
        assert pickle.loads(pickle.dumps(n)) == n


def test_substitution_and_errors():
    assert (A * 3 + F).substitute({A: NumNode(2)}) == F + 6 and (A + F).substitute({A: B}) == B + F
    with pytest.raises(AssertionError):
        s.sym_infer(A + F, {A: 3})
    for wrong in (lambda: A // 0, lambda: A % 0, lambda: A % -3):
        with pytest.raises(AssertionError):
            wrong()
    with pytest.raises(TypeError):
        A + 1.5
    assert not NumNode(0) and A and bool(NumNode(3))
    assert s.create_lt_node(A, 3) == (A < 3) and s.create_ge_node(A, 3) == (A >= 3)


def test_anonymous_variables_are_expanded():
    lanes = Variable(None, 0, 3)
    assert [n.render() for n in (A * 4 + lanes).expand()] == ["(a*4)", "((a*4)+1)", "((a*4)+2)", "((a*4)+3)"] or \
        [n - A * 4 for n in (A * 4 + lanes).expand()] == [0, 1, 2, 3]
    assert A.expand() == [A] and (A + F).expand_idx() == 0 and Node.num(3) == NumNode(3)
    assert list(Node.iter_idxs((Variable("x", 0, 1), Variable("y", 0, 1)))) == [(0, 0), (1, 0), (0, 1), (1, 1)]


def truncated(a, b):
    return abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


# What tinygrad 0.8's renderers of C print means: / and % truncate.
C_TEXTS = {**s.render_python,
           s.DivNode: lambda n, ops, ctx: f"truncated({n.a.render(ops, ctx)}, {s._text(n.b, ops, ctx)})",
           s.ModNode: lambda n, ops, ctx: "(lambda x, y: x - truncated(x, y) * y)"
                                          f"({n.a.render(ops, ctx)}, {s._text(n.b, ops, ctx)})"}


def read_both_ways(st, data):
    """The elements a program reads whose / and % floor, and whose truncate; -1 where there is none."""
    pair, results = st.expr_idxs(), []
    for texts in (s.render_python, C_TEXTS):
        index, valid = (compile(n.render(texts), "index", "eval") for n in pair)
        found = []
        for at in itertools.product(*map(range, st.shape)):
            names = {"truncated": truncated, **{f"idx{d}": i for d, i in enumerate(at)}}
            found.append(data[eval(index, names)] if eval(valid, names) else -1)
        results.append(found)
    return results


def moved(rng, st, x):
    """One random movement of a tracker, and of an array."""
    import numpy as np
    rank, kind = x.ndim, rng.integers(6)
    if kind == 0:
        order = tuple(int(i) for i in rng.permutation(rank))
        return st.permute(order), x.transpose(order)
    if kind == 1 and x.size:
        sizes, left = [], x.size
        while left > 1:
            sizes.append(int(rng.choice([d for d in range(2, left + 1) if left % d == 0])))
            left //= sizes[-1]
        sizes.insert(int(rng.integers(len(sizes) + 1)), 1)
        return st.reshape(tuple(sizes)), x.reshape(sizes)
    if kind == 2:
        keep = tuple((b := int(rng.integers(n)), int(rng.integers(b + 1, n + 1))) for n in x.shape)
        return st.shrink(keep), x[tuple(slice(*k) for k in keep)]
    if kind == 3 and x.size < 60:
        pads = tuple((int(rng.integers(2)), int(rng.integers(2))) for _ in x.shape)
        return st.pad(pads), np.pad(x, pads, constant_values=-1)
    if kind == 4:
        steps = tuple(int(rng.choice([-2, -1, 1, 1, 2])) for _ in x.shape)
        return st.stride(steps), x[tuple(slice(None, None, k) for k in steps)]
    if x.size < 60:
        wider = tuple(3 if n == 1 else n for n in x.shape)
        return st.expand(wider), np.broadcast_to(x, wider)
    return st, x


def test_trees_of_trackers_are_the_same_under_truncating_division(rng):
    import numpy as np
    for n in (7, 14):  # every second element of rows of three
        st = ShapeTracker.from_shape((n, 3)).stride((1, 2)).reshape((2 * n,))
        assert read_both_ways(st, np.arange(3 * n)) == [np.arange(3 * n).reshape(n, 3)[:, ::2].ravel().tolist()] * 2
    divided = 0
    for _ in range(250):
        shape = tuple(int(n) for n in rng.integers(1, 6, 3))
        st, x = ShapeTracker.from_shape(shape), np.arange(int(np.prod(shape))).reshape(shape)
        for _ in range(6):
            st, x = moved(rng, st, x)
        divided += "//" in st.expr_idxs()[0].render()
        assert read_both_ways(st, np.arange(int(np.prod(shape)))) == [x.ravel().tolist()] * 2, st
    assert divided > 20


@pytest.mark.parametrize("text", ["(f - a)//4", "(f - a)%4", "(b - a)//(f + 1)", "(b*3 - a*2)%(f + 2)", "a//-3", "(f - a)//-4",
                                  "(a*-5)//7%3", "(a - b)//(-1 - f)", "((a*-1)%3)*-1", "(a//3)*3 - a", "(7 - (a*-1)%5)//7",
                                  "-((f - a)%4) + b", "-((b - a)%(f + 1))", "(a//(f + 2))*(f + 2) - a"])
def test_expressions_are_the_same_under_truncating_division(text):
    tree = eval(text, {"a": A, "b": B, "f": F})
    for a, b, f in itertools.product(range(11), range(11), range(4)):
        names = {"a": a, "b": b, "f": f}
        assert eval(tree.render(C_TEXTS), {"truncated": truncated, **names}) == eval(text, names), (tree, names)


def test_bounds_of_sums_lie_within_those_of_their_parts():
    """The quotient and the remainder meet in a shorter form, which alone shows less."""
    i, j = Variable("i", 3, 4), Variable("j", 6, 20)
    x = i * 25 + j
    node = x % 30 * 5 + x // 30
    values = [(n % 30) * 5 + n // 30 for n in (25 * a + b for a in range(3, 5) for b in range(6, 21))]
    assert 0 <= node.min <= min(values) and max(values) <= node.max <= 149
    agree(node, lambda i, j: ((25 * i + j) % 30) * 5 + (25 * i + j) // 30, i, j)


def test_names_of_the_front_end():
    from touchstone.compat.tinygrad.shape import shapetracker as t, view as v
    assert v.strides_for_shape((2, 3, 1)) == (3, 1, 0) and v.strides_for_shape(()) == ()
    assert v.canonicalize_strides((1, 4), (4, 1)) == (0, 1)
    assert v._merge_dims((2, 3, 4), (12, 4, 1)) == ((24, 1, 24),) and v._merge_dims((2, 3), (1, 2)) == ((2, 1, 2), (3, 2, 3))
    assert v._merge_dims((3, 1, 4), (0, 0, 0)) == ((12, 0, 0),) and v._merge_dims((), ()) == ()
    assert v._merge_dims((4, 5), (0, 1), ((1, 2), (0, 5))) == ((20, 1, 5),)
    flat, both = View.create((6,)), View.create((2, 3)).permute((1, 0))
    assert t.merge_views(both, flat) is None and t.merge_views(flat, both) == both
    assert t.simplify((flat, both)) == (both,) and len(t.simplify((both, flat))) == 2
    assert t.idxs_to_idx((2, 3), (A, F)) == A * 3 + F
    assert t.expr_node(both, A) == A % 6 % 2 * 3 + A % 6 // 2 and t.expr_node(flat).render() == "idx"
    assert t.expr_idxs(both, (A, F)) == A + F * 3
    padded = flat.pad(((1, 1),))
    assert t.expr_node_mask(padded, B % 8, A < 3) == Node.ands([A < 3, B % 8 >= 1, B % 8 < 7])
    assert isinstance(3, t.sint) and isinstance(A * 2, t.sint) and not isinstance(A < 3, t.sint) and t.View is View
    assert s.create_rednode(s.SumNode, [A, F]) == A + F and isinstance(s.create_rednode(s.AndNode, [NumNode(1), NumNode(1)]), NumNode)
    assert s.sym_rename(A) == s.sym_rename(A) != s.sym_rename(B)


def test_a_flat_index_counts_from_0_again():
    st = ShapeTracker.from_shape((160,)).shrink(((10, 160),)).reshape((30, 5))
    assert st.expr_node(NumNode(150))[0] == 10 and st.expr_node(NumNode(153))[0] == 13
    index, valid = ShapeTracker.from_shape((4,)).pad(((1, 1),)).expr_node(Variable("idx", 0, 17))
    for i in range(18):
        assert bool(eval(valid.render(), {"idx": i})) == (1 <= i % 6 < 5)
        assert i % 6 in (0, 5) or eval(index.render(), {"idx": i}) == i % 6 - 1


def test_reshape_merges_with_the_last_view_and_a_sum_view_by_view():
    padded = ShapeTracker.from_shape((5, 10, 5, 10)).permute((1, 0, 3, 2)).pad(((0, 0), (0, 5), (0, 0), (0, 5)))
    assert len(padded.reshape((10, 2, 5, 10, 2, 5)).views) == 1
    line = ShapeTracker.from_shape((1, 1, 4)).pad(((3, 6), (0, 0), (1, 5))).reshape((100,))
    assert len(line.views) == 1 and line.views[0].mask == ((31, 35),)
    repeated = ShapeTracker.from_shape((1, 10)).expand((10, 10)).reshape((100,)).reshape((10, 10))
    assert len(repeated.views) == 2 and len(repeated.simplify().views) == 1
    turned = ShapeTracker.from_shape((10, 10)).permute((1, 0))
    assert turned + turned == ShapeTracker.from_shape((10, 10))


def test_invert_of_trackers_that_drop_or_repeat_elements_is_none():
    square = ShapeTracker.from_shape((10, 10))
    assert square.shrink(((0, 10), (2, 8))).invert((10, 10)) is None and square.stride((2, 2)).invert((10, 10)) is None
    assert ShapeTracker.from_shape((10, 1)).expand((10, 10)).invert((10, 1)) is None
    for x in (square.reshape((5, 20)), square.permute((1, 0)), square.stride((-1, 1)), square.reshape((2, 5, 10)).permute((1, 2, 0))):
        assert x + x.invert((10, 10)) == ShapeTracker.from_shape(x.shape) or x.shape != (10, 10)
        assert x.invert((10, 10)) + x == square or x.invert((10, 10)).shape == (10, 10)


def test_bound_variables_take_part_in_movement():
    j, square = Variable("j", 0, 20).bind(10), ShapeTracker.from_shape((10, 10))
    x = square.reshape((10, j))
    assert x.shape == (10, j) and x + x == x and x.reshape((5, 2, j)) + x == x and x.reshape((10, 10)).shape == (10, 10)
    i, k = Variable("i", 1, 5).bind(3), Variable("k", 1, 5).bind(3)
    columns = ShapeTracker.from_shape((3, 1)).expand((3, i)).reshape((3, i, 1)).expand((3, i, k))
    assert columns.shape == (3, i, k)
    both = ShapeTracker.from_shape((3, 4)).reshape((i, 4)).pad(((0, k), (0, 0)))
    assert both.shape == (i + k, 4) and both.real_strides(True) == (4, 1) and both.reshape((24,)).shape == (24,)
    moved = ShapeTracker.from_shape((4, 3)).shrink(((i, i + 1), (0, 3)))
    assert moved.shape == (1, 3) and moved.views[-1].offset == i * 3 and moved.unbind()[1] == {Variable("i", 1, 5): 3}
    same = ShapeTracker.from_shape((3, 4)).permute((1, 0)).reshape((4, i))
    assert same.shape == (4, i) and same.views[0].strides == (1, 4)
    for wrong, error in ((lambda: square.reshape((10, i)), ValueError), (lambda: square.reshape((10, j + 0 * i + 1)), AssertionError),
                         (lambda: ShapeTracker.from_shape((3, 4)).permute((1, 0)).reshape((i, 4)), ValueError),
                         (lambda: ShapeTracker.from_shape((10, 3)).shrink(((i + 9, i + 11), (0, 3))), AssertionError),
                         (lambda: ShapeTracker.from_shape((2, 3)).shrink(((0, i), (0, 3))), AssertionError),
                         (lambda: View.create((4, i)).shrink(((0, 4), (k, i + 1))), AssertionError),
                         (lambda: View.create((4, i)).shrink(((0, 4), (k, k - 1))), AssertionError)):
        with pytest.raises(error):
            wrong()


def test_bound_variables_are_sizes_of_tensors():
    import numpy as np
    from touchstone import Tensor
    x, v = np.arange(12, dtype="f4").reshape(3, 4), Variable("v", 1, 10).bind(3)
    t = Tensor(x)
    for got, want in ((t.reshape(v, 4), x), ((t.reshape(v, v + 1) + 1).reshape(12), x.ravel() + 1), (t[:, :v], x[:, :3]), (t[v - 1], x[2]),
                      (t.shrink(((0, v - 1), None)), x[:2]), (t.pad(((0, v), None)), np.pad(x, ((0, 3), (0, 0)))),
                      (t.reshape(v, 1, 4).expand(v, v, 4), np.repeat(x[:, None], 3, 1)), (Tensor.ones(v, 2), np.ones((3, 2)))):
        assert got.shape == want.shape and (got.numpy() == want).all()
    with pytest.raises(TypeError):
        t.reshape(Variable("w", 1, 10), 4)
    with pytest.raises(TypeError, match="bind"):
        range(A + 1)


def test_own_renderers():
    c = {**s.render_python, s.DivNode: lambda n, ops, ctx: f"div({n.a.render(ops, ctx)},{n.b})"}
    assert (A // 3 + F).render(c) == "(div(a,3)+f)"


def test_random_expressions(rng):
    for _ in range(150):
        pool = [A, F, NumNode(int(rng.integers(0, 9)))]
        plain = ["a", "f", str(pool[2].b)]
        for _ in range(5):
            i, j, op = int(rng.integers(len(pool))), int(rng.integers(len(pool))), ["+", "-", "*", "//", "%", "<"][rng.integers(6)]
            if op in ("//", "%"):
                k = int(rng.integers(1, 8))
                pool.append(eval(f"x {op} {k}", {"x": pool[i]}))
                plain.append(f"({plain[i]} {op} {k})")
            else:
                pool.append(eval(f"x {op} y", {"x": pool[i], "y": pool[j]}))
                plain.append(f"(({plain[i]}) {op} ({plain[j]}))")
        agree(pool[-1], eval(f"lambda a, f: int({plain[-1]})"), A, F)


def test_variables_up_to_an_expression():
    """gidx0 ranges up to i for any i: so do // and % of values not below i."""
    i = Variable("i", 1, 10)
    row, lane, low = Variable("row", 0, i), Variable("lane", 0, 7), Variable("low", 0, i * 3 - 1)
    assert row.max == i and low // (i * 3) == 0 and low % (i * 3) == low and (i + 1 + row) // (i + 1) == 1
    assert (lane * (i * 4 + 4) + row) // (i + 1) == lane * 4 and (lane * (i * 4 + 4) + row) % (i + 1) == row
    assert pickle.loads(pickle.dumps(row)) == row and row != Variable("row", 0, 10) and row % 8 != row
    st = ShapeTracker((View.create((i + 1, 8, 4), (1, i * 4 + 4, i + 1)),))
    index, valid = st.expr_idxs((row, lane, NumNode(1)))
    for n, r, e in itertools.product((1, 4, 10), (0, 1), range(8)):
        assert eval(index.render(), {}, {"i": n, "row": r, "lane": e}) == e * (4 * n + 4) + 1 + r + n
    assert valid == 1


def test_names_of_any_kind():
    for name in ("min", "where", "lambda", "and", "a b", "x[0]", "_", "__5f", "größe", ""):
        v = Variable(name, 0, 9)
        assert v.render() == name and (v * 4 // 4) == v and pickle.loads(pickle.dumps(v)) == v
        assert (v // 3 + A).vars() == {v, A} and (v + A).substitute({v: NumNode(2)}) == A + 2
    assert Variable("_", 0, 9) != Variable(None, 0, 9) and Variable("__5f", 0, 9) != Variable("_", 0, 9)


def test_numbers_render_and_infer():
    assert s.sym_render(A + 1) == "(1+a)" and s.sym_render(3) == "3" and s.sym_infer(2.5, {}) == 2.5
    v = Variable("v", 0, 3)
    assert v._val is None and v.bind(2)._val == 2 and max(1, Variable("m", 1, 8)) == Variable("m", 1, 8)


def interpreted(steps, x):
    """An interpreter of AS_STRIDED, PAD and EXPAND only."""
    import numpy as np
    for op, arg in steps:
        if op is ops.MovementOps.AS_STRIDED:
            shape, strides, offset = arg
            flat = x.reshape(-1)
            x = np.array([flat[offset + sum(i * st for i, st in zip(at, strides))] for at in np.ndindex(*shape)], int).reshape(shape)
        elif op is ops.MovementOps.PAD:
            x = np.pad(x, arg, constant_values=-1)
        else:
            assert op is ops.MovementOps.EXPAND
            x = np.broadcast_to(x, arg)
    return x


@pytest.mark.parametrize("build", [
    lambda t: t.permute((1, 0)), lambda t: t.pad(((1, 2), (0, 1))), lambda t: t.stride((-1, 2)), lambda t: t.shrink(((1, 2), (0, 3))),
    lambda t: t.reshape((2, 1, 4)).expand((2, 3, 4)).pad(((0, 0), (1, 1), (2, 0))), lambda t: t.permute((1, 0)).reshape((8,)),
    lambda t: t.permute((1, 0)).reshape((8,)).pad(((1, 0),)).reshape((3, 3)), lambda t: t.shrink(((0, 0), (0, 4))),
    lambda t: t.pad(((0, 2), (0, 0))).shrink(((2, 4), (0, 4)))])
def test_movement_operations_are_those_of_an_interpreter(build):
    import numpy as np
    st, x = build(ShapeTracker.from_shape((2, 4))), np.arange(8)
    got = interpreted(st.to_movement_ops(), x)
    assert got.shape == st.shape
    for at in np.ndindex(*st.shape):
        index, valid = (s.sym_infer(n, {}) if isinstance(n, int) else n.b for n in st.expr_idxs([NumNode(i) for i in at]))
        assert got[at] == (x[index] if valid else -1)


def test_sizes_are_numbers_and_refusals_are_asserted():
    n = Variable("n", 1, 8)
    assert View.create((n, 4)).size() == 32 and ShapeTracker.from_shape((n, 4)).size == 32 and View.create(()).size() == 1
    for t in (View.create((2, 3)), ShapeTracker.from_shape((2, 3))):
        for wrong in (lambda: t.shrink(((0, 3), (0, 1))), lambda: t.shrink(((1, 0), (0, 1))), lambda: t.shrink(((0, 1),)),
                      lambda: t.expand((3, 3))):
            with pytest.raises(AssertionError):
                wrong()
        with pytest.raises(ValueError):
            t.expand((2, 3, 1))


def test_reduces_name_the_new_shape_or_the_axes():
    from touchstone import kernel
    import numpy as np
    x = np.arange(6, dtype="f4").reshape(2, 3)
    load = ops.LazyOp(ops.BufferOps.LOAD, (), ops.MemBuffer(1, "float32", ShapeTracker.from_shape((2, 3))))
    for arg, kept in (((2, 1), (2, 1)), ((1, 3), (1, 3)), ((1, 1), (1, 1)), ((1,), (2, 1)), ((0,), (1, 3)), ((0, 1), (1, 1))):
        total = ops.LazyOp(ops.ReduceOps.SUM, (load,), arg)
        ast = ops.LazyOp(ops.BufferOps.STORE, (total,), ops.MemBuffer(0, "float32", ShapeTracker.from_shape(kept)))
        assert (kernel.eval(ops.to_kernel(ast), x) == x.sum(tuple(i for i in (0, 1) if kept[i] == 1), keepdims=True)).all(), arg
    half = ops.LazyOp(ops.BufferOps.LOAD, (), ops.MemBuffer(1, "half", ShapeTracker.from_shape((2, 3))))
    ast = ops.LazyOp(ops.BufferOps.STORE, (ops.LazyOp(ops.ReduceOps.SUM, (half,), (2, 1)),),
                     ops.MemBuffer(0, "half", ShapeTracker.from_shape((2, 1))))
    assert '"accumulator":"float16"' in ops.to_kernel(ast).to_json().replace(" ", "")


def test_costs_and_counters():
    st = ShapeTracker.from_shape((4,))
    x = ops.LazyOp(ops.BufferOps.LOAD, (), ops.MemBuffer(1, "float32", st))
    cost = ops.get_lazyop_info(ops.LazyOp(ops.BufferOps.STORE, (ops.LazyOp(ops.BinaryOps.ADD, (x, x)),), ops.MemBuffer(0, "float32", st)))
    assert cost.consume_flops() == 4 and cost.flops == 0 and cost.mem_estimate == 32
    from touchstone import Tensor
    ops.GlobalCounters.reset()
    (Tensor([1.0, 2.0]) + 1).numpy()
    assert (ops.GlobalCounters.kernel_count, ops.GlobalCounters.global_ops) == (1, 2) and ops.GlobalCounters.global_mem == 24
    assert ops.GlobalCounters.time_sum_s > 0 and ops.GlobalCounters.mem_used >= 0
    ops.GlobalCounters.global_ops, ops.GlobalCounters.time_sum_s = 100, 0.0
    (Tensor([1.0, 2.0]) + 1).numpy()
    assert ops.GlobalCounters.global_ops == 102 and 0 < ops.GlobalCounters.time_sum_s
    ops.GlobalCounters.reset()
    assert ops.GlobalCounters.global_ops == 0
    with pytest.raises(AttributeError, match="foo.*kernel_count"):
        ops.GlobalCounters.foo = 3
    total = ops.LazyOp(ops.ReduceOps.SUM, (ops.LazyOp(ops.BinaryOps.MUL, (x, x)),), (0,))
    cost = ops.get_lazyop_info(total)  # a root that stores nothing
    assert (cost.flops, cost.mem, cost.shape, cost.dtype) == (8, {1: 16}, (1,), "float32")
    assert ops.get_lazyop_info(x).flops == 0 and ops.get_lazyop_info(x).mem == {1: 16} and ops.vars_from_ast(total) == []


def test_views():
    v = View.create((2, 3))
    assert v.strides == (3, 1) and v.contiguous and v.size() == 6 and View.create((1, 3)).strides == (0, 1)
    assert v.permute((1, 0)).strides == (1, 3) and v.pad(((1, 0), (0, 0))).mask == ((1, 3), (0, 3))
    assert v.shrink(((0, 1), (1, 3))).shape == (1, 2) and v.stride((-1, 2)).shape == (2, 2)
    assert v.permute((1, 0)).reshape((6,)) is None and v.reshape((6,)) == View.create((6,))
    assert v + View.create((6,)) == View.create((6,)) and v.invert((2, 3)) == v
    for w in (v, v.pad(((1, 1), (0, 2)))):
        assert pickle.loads(pickle.dumps(w)) == w and eval(repr(w), {"View": View}) == w
    for wrong in (lambda: v.pad(((-1, 0), (0, 0))), lambda: v.permute((0, 0)), lambda: v.stride((0, 1))):
        with pytest.raises(AssertionError):
            wrong()
    with pytest.raises(ValueError):
        v.reshape((-1, 6))


def test_shapetrackers():
    st = ShapeTracker.from_shape((2, 3)).permute((1, 0)).reshape((6,)).pad(((1, 1),))
    idx, valid = st.expr_node()
    for i in range(8):
        at = {"idx": i}
        assert bool(eval(valid.render(), {}, at)) == (1 <= i < 7)
        if 1 <= i < 7:
            assert eval(idx.render(), {}, at) == divmod(i - 1, 2)[0] + divmod(i - 1, 2)[1] * 3
    assert st.real_strides() == (None,) and st.axis_is_masked(0) and st.shape == (8,) and st.size == 8
    assert pickle.loads(pickle.dumps(st)) == st and st.simplify().shape == (8,)
    plain = ShapeTracker.from_shape((4, 4)).permute((1, 0))
    assert plain.real_strides() == (1, 4) and plain.unit_stride_axes() == [0] and not plain.contiguous
    assert plain.invert((4, 4)).expr_idxs()[0].render() and plain.to_movement_ops()[0][0] in ops.MovementOps
    assert (plain + ShapeTracker.from_shape((16,))).shape == (16,)
    assert get_contraction((1, 2, 3, 4), (1, 6, 4)) is not None and get_contraction((2, 3), (4,)) is None
    nothing = ShapeTracker.from_shape((2,)).pad(((0, 2),)).shrink(((2, 4),))
    assert nothing.expr_idxs()[1] == 0 and nothing.expr_idxs()[0] == -1


def test_bound_shapes():
    n = Variable("n", 1, 8).bind(3)
    st = ShapeTracker.from_shape((n, 4))
    assert st.shape == (n, 4) and st.shape[0].val == 3 and st.vars() == {n} and {k.expr: v for k, v in st.var_vals.items()} == {"n": 3}
    unbound, values = st.unbind()
    assert unbound.shape[0].val is None and list(values.values()) == [3]


def test_lazyops():
    st = ShapeTracker.from_shape((4, 5))
    x = ops.LazyOp(ops.BufferOps.LOAD, (), ops.MemBuffer(1, "float32", st))
    two = ops.LazyOp(ops.BufferOps.CONST, (), ops.ConstBuffer(2.0, "float32", st))
    product = ops.LazyOp(ops.BinaryOps.MUL, (x, two))
    total = ops.LazyOp(ops.ReduceOps.SUM, (product,), (1,))
    ast = ops.LazyOp(ops.BufferOps.STORE, (total,), ops.MemBuffer(0, "float32", ShapeTracker.from_shape((4, 1))))
    assert product == ops.LazyOp(ops.BinaryOps.MUL, (x, two)) and hash(product) == hash(ops.LazyOp(ops.BinaryOps.MUL, (x, two)))
    assert len(ast.lazyops) == 5 and ast.vars() == []
    import numpy as np
    from touchstone import kernel
    data = np.arange(20, dtype="f4").reshape(4, 5)
    assert (kernel.eval(ops.to_kernel(ast), data)[:, 0] == data.sum(1) * 2).all()
    assert ops.get_lazyop_info(ast).flops == 40
