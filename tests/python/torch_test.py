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
    assert not seen.failures and list(seen.unjudged) == ["aten.median.default: has no row"], str(seen)
    assert any(o.name.startswith("aten._softmax_backward_data") for o in seen.operations)


def test_rows_follow_pytorch_where_types_and_numbers_meet():
    x, y = drawn((50,), (50,))
    with touchstone.torch.watch() as seen:
        x.clone().mul_(y.double())
        x.half().mul_(y)
        torch.sub(x, 0.7, alpha=0.3)
        torch.lerp(x * 1e6, y, 0.9)
        F.softplus(x, 1, 0.5)
        torch.addmm(torch.full((4,), float("nan")), x.reshape(5, 10), y[:40].reshape(10, 4), beta=0)
        F.embedding(torch.tensor([[1, 2], [3, 0]]), x.reshape(10, 5)).sum(2)
        x.view(torch.int32)[:3] + 1
        torch.tensor([0.1]) == torch.tensor(0.1, dtype=torch.float64)
        (x.double() * (1 + 2**-40)).half()
    assert not seen.failures and not seen.unjudged, str(seen)


def test_a_weak_layer_norm_is_not_any_numbers():
    x, = drawn((8, 1024))
    with pytest.raises(AssertionError, match="FAIL"):
        touchstone.testing.assert_legal(F.layer_norm(x + 300, (1024,)) * 1.3, lambda x: F.layer_norm(x, (1024,)), x + 300)


def test_attributes_are_the_function_s():
    x, = drawn((60,))
    assert touchstone.testing.assert_legal(F.gelu(x, approximate="tanh"), F.gelu, x, approximate="tanh").legal
    with pytest.raises(AssertionError, match="FAIL"):
        touchstone.testing.assert_legal(F.gelu(x, approximate="tanh"), F.gelu, x)


def test_the_watched_program_goes_on():
    with touchstone.torch.watch() as seen:
        torch.ones(3, device="meta") + 1
        torch.ones(3, dtype=torch.complex64) * 2
    assert len(seen.unjudged) == 2 and not seen.operations


@pytest.mark.parametrize("function, says", [
    (lambda x: torch.median(x) + x, "no formula for aten.median.default: has no row"),
    (lambda x: x.clone().add_(1), r"in place \(add_\)"), (lambda x: torch.rand(8) + x, "draws random numbers"),
    (lambda x: {"y": x}, "something other than a tensor")])
def test_what_cannot_be_a_formula_is_said(function, says):
    with pytest.raises(TypeError, match=says):
        touchstone.torch.formula(function, *drawn((4, 8)))


def test_a_write_into_a_part_is_no_formula():
    def function(x):
        y = x.clone()
        y[0] = 5.0
        return y
    with pytest.raises(TypeError, match="in place"):
        touchstone.torch.formula(function, *drawn((4, 8)))
    with pytest.raises(TypeError, match="tensors of PyTorch, not int"):
        touchstone.torch.formula(function, 3)


def test_exported_networks_are_read_and_their_faults_found(tmp_path):
    """What the reference computes for an exported network is legal; a fault is found at its node."""
    import networks
    import touchstone.onnx
    torch.manual_seed(1)
    for name, (net, inputs, names) in networks.models().items():
        torch.onnx.export(net.eval(), tuple(inputs), str(tmp_path / f"{name}.onnx"), input_names=names, opset_version=16, do_constant_folding=False)
        model = touchstone.onnx.Model(tmp_path / f"{name}.onnx")
        given = {n: x.numpy() for n, x in zip(names, inputs)}
        values = touchstone.onnx.run(model, given, model.values)
        judged = touchstone.onnx.judge(model, given, values)
        assert len(judged) == len(model.values) and {v.status for v in judged} == {"PASS"}, name
        for node, value in enumerate(model.values[len(model.values) // 2:]):
            if values[value].dtype == "float32" and values[value].size > 8:
                break
        wrong = values[value].copy()
        wrong.reshape(-1)[3] += 1
        status = {v.name: v.status for v in touchstone.onnx.judge(model, given, {**values, value: wrong})}
        assert status[value] == "FAIL", (name, value)
        assert next(n for n in model.values if status[n] == "FAIL") == value


def compiled_by(backend, function):
    """As torch.compile does, which 1.13 lacks: traces at the first call and gives the graph to the backend."""
    made = []

    def call(*inputs):
        if not made:
            made.append(backend(torch.fx.symbolic_trace(function), list(inputs)))
        result = made[0](*inputs)
        return result
    return call


def test_what_an_inner_backend_compiles_is_judged(monkeypatch):
    import types
    asked = []

    def inductor(graph, inputs):
        asked.append(len(inputs))
        return graph.forward
    monkeypatch.setattr(torch, "_dynamo", types.SimpleNamespace(lookup_backend={"inductor": inductor}.__getitem__), raising=False)
    backend = touchstone.torch.compiled("inductor")
    run = compiled_by(backend, lambda x, w: (torch.softmax(x @ w, -1), x.sum(0)))
    x, w = drawn((4, 8), (8, 5))
    for scale in (1, 2):
        run(x * scale, w)
    assert asked == [2] and [o.name for o in backend.seen.operations] == ["graph 1, result 0", "graph 1, result 1"] * 2
    assert not backend.seen.failures and "softmax(" in backend.seen.operations[0].formula and __file__ in backend.seen.operations[0].where

    def faulty(graph, inputs):
        return lambda *args: tuple(y * (1 + 1e-3) for y in graph(*args))
    with pytest.raises(AssertionError, match="graph 1, result 0"):
        compiled_by(touchstone.torch.compiled(faulty), lambda x, w: (torch.softmax(x @ w, -1),))(x, w)
    noting = touchstone.torch.compiled(faulty, raises=False)
    compiled_by(noting, lambda x, w: (torch.relu(x) @ w, torch.exp(x)))(x, w)
    assert len(noting.seen.failures) == 2
    odd = touchstone.torch.compiled(faulty)
    compiled_by(odd, lambda x: (torch.median(x) + x,))(x)
    assert not odd.seen.operations and "no formula for aten.median" in next(iter(odd.seen.unjudged))


def test_a_graph_may_take_numbers_and_write_its_inputs():
    def writes(graph, inputs):
        return lambda x, n: (x.mul_(n),)
    backend = touchstone.torch.compiled(writes)
    x, = drawn((4, 8))
    was = x.clone()
    backend(lambda x, n: (x * n,), [x, 3])(x, 3)
    assert torch.equal(x, was * 3) and [o.verdict.status for o in backend.seen.operations] == ["PASS"]


def test_programs_of_torch_export_are_references():
    class ExportedProgram:  # as torch.export's: not callable, its module is
        def __init__(self, module):
            self._module = module

        def module(self):
            return self._module
    net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
    x, = drawn((3, 8))
    with torch.no_grad():
        y = net(x)
    assert touchstone.torch.judge(ExportedProgram(torch.fx.symbolic_trace(net)), x, actual=y).legal
    assert not touchstone.torch.judge(ExportedProgram(net), x, actual=y + 1).legal
