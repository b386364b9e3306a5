"""Functions of PyTorch as references, where PyTorch is installed."""
import pytest

torch = pytest.importorskip("torch")
import touchstone.testing  # noqa: E402
import touchstone.torch  # noqa: E402

F = torch.nn.functional


def drawn(*shapes, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def test_a_function_is_the_reference_of_another():
    x, w = drawn((8, 33), (33, 16))

    def reference(x, w):
        return torch.softmax(x @ w * 0.1, -1)

    def mine(x, w, fault=0.0):
        y = (x @ w).mul(0.1)
        e = (y - y.amax(1, keepdim=True)).exp()
        return e / (e.sum(1, keepdim=True) + fault)
    assert touchstone.testing.assert_legal(mine(x, w), reference, x, w).legal
    with pytest.raises(AssertionError, match="reference.*FAIL"):
        touchstone.testing.assert_legal(mine(x, w, 1e-4), reference, x, w)
    assert str(touchstone.torch.formula(reference, x, w)) == (
        "t1 = (x1[8,33]:float32 @ x2[33,16]:float32);\nt2 = (t1 * 0.1);\nt3 = softmax(t2, axis=1);\nt3")


def test_modules_have_their_parameters_as_inputs():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4))
    x, = drawn((5, 16))
    formula = touchstone.torch.formula(model, x)
    assert formula.judge(model(x)).status == "PASS"
    assert formula.judge(model(x) * 1.01).status == "FAIL"
    assert len(formula.inputs) == 7


def test_several_results_and_a_part_that_one_does_not_need():
    x, = drawn((4, 6))
    formula = touchstone.torch.formula(lambda x: (x.exp().sum(1), x.amax(0)), x)
    assert "exp" in formula.texts[0] and "exp" not in formula.texts[1]
    assert formula.judge((x.exp().sum(1), x.amax(0))).legal
    assert not formula.judge((x.exp().sum(1), x.amin(0))).legal
    with pytest.raises(ValueError, match="returns 2 tensors; 1 are given"):
        formula.judge([x])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int32])
def test_every_operation_of_a_scope_is_judged(dtype):
    a, b = ((x * 5).to(dtype) for x in drawn((3, 4), (3, 4)))
    with touchstone.torch.watch() as seen:
        c = (a + b) * 3 - a
        c += b
        torch.where(c < b, c, b).sum(1)
        torch.cat([a, b]).t()[1:].to(torch.float32).mean()
    assert not seen.failures and not seen.unjudged and len(seen.operations) >= 8, str(seen)
    assert seen.moved == 2 and "torch_test.py:" in seen.operations[0].where


def test_a_wrong_operation_is_found_where_it_stands():
    x, w = drawn((2, 3, 8, 8), (4, 3, 3, 3))

    class Wrong(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, op, types, args=(), kwargs=None):
            result = op(*args, **(kwargs or {}))
            return result * 1.001 if op is torch.ops.aten.convolution.default else result
    with Wrong(), touchstone.torch.watch() as seen:
        F.relu(F.conv2d(x, w, padding=1)).mean()
    assert [o.name for o in seen.failures] == ["aten.convolution.default"] and "torch_test.py:" in seen.failures[0].where
    with pytest.raises(AssertionError, match="convolution.*torch_test.py:.*FAIL"):
        with Wrong(), touchstone.torch.watch(raises=True):
            F.relu(F.conv2d(x, w, padding=1)).mean()


def test_gradients_and_what_has_no_row():
    torch.manual_seed(1)
    layer = torch.nn.Linear(8, 8)
    x, = drawn((4, 8))
    with touchstone.torch.watch() as seen:
        layer(x).relu().softmax(-1).square().sum().backward()
        torch.median(x)
    assert not seen.failures and list(seen.unjudged) == ["aten.median.default: no row"], str(seen)
    assert any(o.name.startswith("aten._softmax_backward_data") for o in seen.operations)


def test_what_cannot_be_a_formula_is_said():
    x, = drawn((4, 8))
    with pytest.raises(TypeError, match="aten.median.default: no row has no formula"):
        touchstone.torch.formula(lambda x: torch.median(x) + x, x)
    with pytest.raises(TypeError, match="in place"):
        touchstone.torch.formula(lambda x: x.clone().add_(1), x)
