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
