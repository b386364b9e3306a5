"""Networks judged value by value, faults found at their node, and models that are refused."""
import os
import subprocess
import sys

import numpy as np
import pytest

import touchstone
import touchstone.onnx

onnx = pytest.importorskip("onnx", reason="needs Python's onnx (Debian: python3-onnx)")
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(7)


def made(nodes, inputs, outputs, constants=(), opset=16, **more):
    """A model; constants: {name: array}; inputs: {name: array} gives types and shapes."""
    def info(name, array=None):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT if array is None else helper.np_dtype_to_tensor_dtype(array.dtype)
                                             if hasattr(helper, "np_dtype_to_tensor_dtype") else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype],
                                             None if array is None else array.shape)
    graph = helper.make_graph(nodes, "g", [info(n, a) for n, a in inputs.items()], [info(n) for n in outputs],
                              [numpy_helper.from_array(a, n) for n, a in dict(constants).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, **more)


def normal(*shape): return RANDOM.standard_normal(shape).astype(np.float32)


def perceptron():
    """Layer norm, linear, gelu by its parts, linear, softmax; and what NumPy computes for every value."""
    x, g, b, w, v = normal(4, 16), normal(16), normal(16), normal(16, 32) / 4, normal(32, 5) / 4
    node = helper.make_node
    model = made([node("LayerNormalization", ["x", "g", "b"], ["n"], axis=-1), node("MatMul", ["n", "w"], ["h"]),
                  node("Div", ["h", "root"], ["d"]), node("Erf", ["d"], ["e"]), node("Add", ["e", "one"], ["f"]), node("Mul", ["h", "f"], ["m"]),
                  node("Mul", ["m", "half"], ["a"]), node("Gemm", ["a", "v", "c"], ["l"]), node("Softmax", ["l"], ["p"], axis=1)],
                 {"x": x}, ["p"], {"g": g, "b": b, "w": w, "v": v, "c": normal(5), "root": np.float32(2**.5), "one": np.float32(1), "half": np.float32(.5)}, 17)
    c = numpy_helper.to_array(next(i for i in model.graph.initializer if i.name == "c"))
    from math import erf
    y = {"n": (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + np.float32(1e-5)) * g + b}
    y["h"] = y["n"] @ w
    y["d"] = y["h"] / np.float32(2**.5)
    y["e"] = np.vectorize(erf)(y["d"].astype(float)).astype(np.float32)
    y["f"] = y["e"] + np.float32(1)
    y["m"] = y["h"] * y["f"]
    y["a"] = y["m"] * np.float32(.5)
    y["l"] = y["a"] @ v + c
    e = np.exp(y["l"] - y["l"].max(1, keepdims=True))
    y["p"] = e / e.sum(1, keepdims=True)
    return model, {"x": x}, y


def statuses(judged): return {v.name: v.status for v in judged}


def test_what_numpy_computes_is_legal():
    model, inputs, values = perceptron()
    assert set(statuses(touchstone.onnx.judge(model, inputs, values)).values()) == {"PASS"}
    touchstone.onnx.assert_legal(model, inputs, values)


def test_outputs_alone_are_judged_as_one():
    model, inputs, values = perceptron()
    [judged] = touchstone.onnx.judge(model, inputs, {"p": values["p"]})
    assert judged.status == "PASS" and "layer_norm" in judged.formula and "softmax" in judged.formula
    wrong = values["p"].copy()
    wrong[1, 2] *= 1.001
    assert statuses(touchstone.onnx.judge(model, inputs, {"p": wrong})) == {"p": "FAIL"}


@pytest.mark.parametrize("node", "nhdefmalp")
def test_a_fault_is_found_at_its_node(node):
    """The values behind a fault are computed from it, as a device would: one FAIL."""
    model, inputs, values = perceptron()
    c = numpy_helper.to_array(next(i for i in model.graph.initializer if i.name == "c"))
    constants = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    values[node] = values[node].copy()
    values[node][2, 3] *= np.float32(1.001)
    from math import erf
    steps = {"h": lambda y: y["n"] @ constants["w"], "d": lambda y: y["h"] / constants["root"],
             "e": lambda y: np.vectorize(erf)(y["d"].astype(float)).astype(np.float32), "f": lambda y: y["e"] + constants["one"],
             "m": lambda y: y["h"] * y["f"], "a": lambda y: y["m"] * constants["half"], "l": lambda y: y["a"] @ constants["v"] + c,
             "p": lambda y: np.exp(y["l"] - y["l"].max(1, keepdims=True)) / np.exp(y["l"] - y["l"].max(1, keepdims=True)).sum(1, keepdims=True)}
    for name in "nhdefmalp"["nhdefmalp".index(node) + 1:]:
        values[name] = steps[name](values)
    assert [n for n, s in statuses(touchstone.onnx.judge(model, inputs, values)).items() if s == "FAIL"] == [node]
    with pytest.raises(AssertionError, match=f"'{node}'"):
        touchstone.onnx.assert_legal(model, inputs, values)


def test_each_step_of_a_recurrent_layer_is_judged_by_the_one_before():
    for op, gates, direction in (("RNN", 1, "forward"), ("GRU", 3, "bidirectional"), ("LSTM", 4, "reverse"), ("LSTM", 4, "bidirectional")):
        many = 2 if direction == "bidirectional" else 1
        x, steps = normal(5, 2, 3), 5
        model = made([helper.make_node(op, ["x", "w", "r", "b"], ["y", "h"], hidden_size=4, direction=direction)], {"x": x}, ["y", "h"],
                     {"w": normal(many, gates * 4, 3), "r": normal(many, gates * 4, 4), "b": normal(many, gates * 8)})
        values = touchstone.onnx.run(model, {"x": x})
        assert values["y"].shape == (steps, many, 2, 4)
        assert set(statuses(touchstone.onnx.judge(model, {"x": x}, values)).values()) == {"PASS"}
        wrong = {**values, "y": values["y"].copy()}
        wrong["y"][2, 0, 1, 1] += 1e-4
        assert statuses(touchstone.onnx.judge(model, {"x": x}, wrong))["y"] == "FAIL"


def test_graphs_run_and_functions_expand():
    x = np.float32([1, 2])
    info = helper.make_tensor_value_info
    body = helper.make_graph([helper.make_node("Add", ["v", "x"], ["w"]), helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Identity", ["w"], ["s"])], "b",
                             [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("v", TensorProto.FLOAT, [2])],
                             [info("d", TensorProto.BOOL, []), info("w", TensorProto.FLOAT, [2]), info("s", TensorProto.FLOAT, [2])])
    loop = made([helper.make_node("Loop", ["n", "", "x"], ["a", "z"], body=body)], {"x": x}, ["a", "z"], {"n": np.array(3)})
    values = touchstone.onnx.run(loop, {"x": x})
    assert values["a"].tolist() == [4, 8] and values["z"].tolist() == [[2, 4], [3, 6], [4, 8]]
    assert statuses(touchstone.onnx.judge(loop, {"x": x}, values)) == {"a": "PASS", "z": "PASS"}
    twice = helper.make_function("my", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 16)])
    call = made([helper.make_node("Twice", ["x"], ["y"], domain="my"), helper.make_node("Twice", ["y"], ["z"], domain="my")], {"x": x}, ["z"], functions=[twice])
    assert touchstone.onnx.run(call, {"x": x})["z"].tolist() == [4, 8]


def test_graphs_inside_functions_read_the_function_s_values():
    x, info = np.float32([1, -2]), helper.make_tensor_value_info
    branch = lambda op, out: helper.make_graph([helper.make_node(op, ["a", "k"], [out])], op, [], [info(out, TensorProto.FLOAT, [2])])  # noqa: E731
    body = [helper.make_node("Add", ["a", "a"], ["k"]),
            helper.make_node("If", ["c"], ["b"], then_branch=branch("Add", "t"), else_branch=branch("Mul", "e"))]
    choose = helper.make_function("my", "Choose", ["a", "c"], ["b"], body, [helper.make_opsetid("", 16)])
    inputs = {"x": x, "yes": np.array(True), "no": np.array(False)}
    model = made([helper.make_node("Choose", ["x", "yes"], ["y"], domain="my"), helper.make_node("Choose", ["y", "no"], ["z"], domain="my")],
                 inputs, ["y", "z"], functions=[choose])
    values = touchstone.onnx.run(model, inputs)
    assert values["y"].tolist() == [3, -6] and values["z"].tolist() == [18, 72]
    assert statuses(touchstone.onnx.judge(model, inputs, values)) == {"y": "PASS", "z": "PASS"}


def test_an_int8_network_of_quantized_operators():
    rng = np.random.default_rng(5)
    weights = {"w": rng.integers(-127, 128, (4, 1, 3, 3)).astype(np.int8), "v": rng.integers(-127, 128, (64, 5)).astype(np.int8), "shape": np.int64([2, 64]),
               "bias": rng.integers(-500, 500, 4).astype(np.int32), "f": np.float32(.02), "g": np.float32(.01), "h": np.float32(.5), "z": np.uint8(128), "o": np.int8(0)}
    x = rng.standard_normal((2, 1, 10, 10)).astype(np.float32)
    model = made([helper.make_node("QuantizeLinear", ["x", "f", "z"], ["q"]),
                  helper.make_node("QLinearConv", ["q", "f", "z", "w", "g", "o", "h", "z", "bias"], ["c"]),
                  helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), helper.make_node("Reshape", ["p", "shape"], ["r"]),
                  helper.make_node("QLinearMatMul", ["r", "h", "z", "v", "g", "o", "h", "z"], ["m"]),
                  helper.make_node("DequantizeLinear", ["m", "h", "z"], ["y"])], {"x": x}, ["y"], weights)
    values = touchstone.onnx.run(model, {"x": x}, ["q", "c", "p", "m", "y"])
    assert len(set(values["c"].ravel().tolist())) > 20 and set(statuses(touchstone.onnx.judge(model, {"x": x}, values)).values()) == {"PASS"}
    wrong = values["c"].copy()
    wrong.reshape(-1)[7] ^= 1
    said = statuses(touchstone.onnx.judge(model, {"x": x}, {**values, "c": wrong}))
    assert said["c"] == "FAIL" and said["q"] == said["y"] == "PASS"


def test_the_exposed_model_is_that_model_with_more_outputs():
    model, inputs, _ = perceptron()
    shown = onnx.load_model_from_string(touchstone.onnx.exposed(model))
    assert [n.op_type for n in shown.graph.node] == [n.op_type for n in model.graph.node]
    assert sorted(o.name for o in shown.graph.output) == sorted("nhdefmalp")


def x_only(nodes, **more): return made(nodes, {"x": np.zeros((2, 3), np.float32)}, ["z"], **more)


BAD = {
    "operators of opset 6": lambda: x_only([helper.make_node("Neg", ["x"], ["z"])], opset=6),
    "nothing computes its input 'q'": lambda: x_only([helper.make_node("Neg", ["q"], ["z"])]),
    "part of a cycle": lambda: x_only([helper.make_node("Neg", ["z"], ["y"]), helper.make_node("Neg", ["y"], ["z"])]),
    "'z' has a value already": lambda: x_only([helper.make_node("Neg", ["x"], ["z"]), helper.make_node("Abs", ["x"], ["z"])]),
    "there is no graph": lambda: helper.make_model(helper.make_graph([], "g", [], []), ir_version=8).SerializeToString()[:2],
}


@pytest.mark.parametrize("why", BAD)
def test_a_bad_model_is_refused(why):
    with pytest.raises(touchstone.ParseError, match=why):
        touchstone.onnx.Model(BAD[why]() if isinstance(BAD[why](), bytes) else BAD[why]().SerializeToString())


def test_a_model_cut_off_anywhere_is_refused_or_read():
    model = perceptron()[0].SerializeToString()
    for end in range(0, len(model), 7):
        try:
            touchstone.onnx.Model(model[:end])
        except touchstone.ParseError:
            pass


def test_elements_outside_the_models_folder_are_not_read(tmp_path):
    (tmp_path / "secret.bin").write_bytes(np.float32([1, 2]).tobytes())
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "own.bin").write_bytes(np.float32([3, 4]).tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    for location, fits in (("own.bin", True), ("../secret.bin", False), (str(tmp_path / "secret.bin"), False), ("link.bin", False), ("none.bin", False)):
        w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
        entry = w.external_data.add()
        entry.key, entry.value = "location", location
        model = helper.make_model(helper.make_graph([helper.make_node("Neg", ["w"], ["z"])], "g", [], [helper.make_tensor_value_info("z", 1, [2])], [w]),
                                  opset_imports=[helper.make_opsetid("", 16)])
        (folder / "m.onnx").write_bytes(model.SerializeToString())
        if fits:
            assert touchstone.onnx.run(folder / "m.onnx", {})["z"].tolist() == [-3, -4]
        else:
            with pytest.raises((touchstone.ParseError, touchstone.SystemError), match="w|none.bin"):
                touchstone.onnx.Model(folder / "m.onnx")
        with pytest.raises(touchstone.ParseError, match="another file"):
            touchstone.onnx.Model((folder / "m.onnx").read_bytes())


def test_an_unknown_operator_leaves_the_rest_judged():
    x = normal(3)
    model = made([helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Rellu", ["r"], ["q"], domain="my"), helper.make_node("Neg", ["q"], ["z"])], {"x": x}, ["z"])
    judged = touchstone.onnx.judge(model, {"x": x}, {"r": np.maximum(x, 0), "q": x, "z": -x})
    assert statuses(judged) == {"r": "PASS", "q": "NOT JUDGED", "z": "PASS"}
    assert "operator 'my.Rellu' is not supported" in judged[1].why
    with pytest.raises(touchstone.ParseError, match="'z' has no value.*my.Rellu"):
        touchstone.onnx.run(model, {"x": x})


@pytest.mark.parametrize("inputs, why", [({}, "no array for the model's input 'x'"), ({"x": np.zeros(3)}, "is float64, expected float32"),
                                         ({"x": np.zeros((3, 2), np.float32)}, r"has the shape \[3,2\], and the model takes \[2,3\]"),
                                         ({"x": np.zeros((2, 3), np.float32), "y": np.zeros(1)}, "has no input 'y'")])
def test_inputs_that_do_not_fit_are_refused(inputs, why):
    with pytest.raises(touchstone.Error, match=why):
        touchstone.onnx.run(x_only([helper.make_node("Neg", ["x"], ["z"])]), inputs)


def command(*words):
    run = subprocess.run([os.environ["TOUCHSTONE_COMMAND"], "model", *map(str, words)], capture_output=True, text=True, env={**os.environ, "LD_PRELOAD": ""})
    return run.returncode, run.stdout + run.stderr


@pytest.mark.skipif("TOUCHSTONE_COMMAND" not in os.environ, reason="needs the command")
def test_the_command_judges_a_backend_and_keeps_the_wrong_node(tmp_path):
    model, inputs, values = perceptron()
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    np.savez(tmp_path / "in.npz", **inputs)
    values["m"] = values["m"] * np.float32(1.01)
    np.savez(tmp_path / "out.npz", **values)
    (tmp_path / "backend.py").write_text(f"import shutil, sys\nshutil.copy({str(tmp_path / 'out.npz')!r}, sys.argv[3])\n")
    code, said = command("judge", tmp_path / "net.onnx", "--in", tmp_path / "in.npz", "--backend", f"{sys.executable} {tmp_path / 'backend.py'}",
                         "--keep", tmp_path / "wrong", "--html", tmp_path / "page.html", "--junit", tmp_path / "report.xml")
    assert code == 1 and said.count("FAIL node") == 2 and "node 6 Mul 'm'" in said, said  # a is made of the right m
    assert touchstone.onnx.Model(tmp_path / "wrong/model.onnx").outputs == ["m"]
    code, said = command("judge", tmp_path / "wrong/model.onnx", "--in", tmp_path / "wrong/inputs.npz", "--actual", tmp_path / "wrong/outputs.npz")
    assert code == 1 and "1 FAIL" in said
    assert "<svg" in (tmp_path / "page.html").read_text() and 'failures="2"' in (tmp_path / "report.xml").read_text()
    code, said = command("run", tmp_path / "net.onnx", "--in", tmp_path / "in.npz", "--device", "CLANG", "--out", tmp_path / "made.npz", "--values")
    assert code == 0 and "p float32 [4,5]" in said
    code, said = command("judge", tmp_path / "net.onnx", "--in", tmp_path / "in.npz", "--actual", tmp_path / "made.npz")
    assert code == 0 and "9 PASS" in said, said


@pytest.mark.skipif("TOUCHSTONE_COMMAND" not in os.environ, reason="needs the command")
def test_a_backend_that_fails_is_an_error(tmp_path):
    (tmp_path / "net.onnx").write_bytes(perceptron()[0].SerializeToString())
    for backend, why in (("false", "it ended by exit code 1"), ("true", "it wrote no outputs.npz")):
        code, said = command("judge", tmp_path / "net.onnx", "--backend", backend)
        assert code == 2 and why in said
    assert "give the values to judge" in command("judge", tmp_path / "net.onnx")[1]


SCALAR = np.float32(2)


@pytest.mark.parametrize("node, inputs", [
    (("Split", ["x"], ["a", "b"]), {"x": SCALAR}), (("Compress", ["x", "c"], ["z"], {"axis": 0}), {"x": SCALAR, "c": np.array([True])}),
    (("Squeeze", ["x", "a"], ["z"]), {"x": SCALAR, "a": np.array([0])}), (("ReduceLogSumExp", ["x"], ["z"], {"axes": [0]}), {"x": SCALAR}),
    (("Unique", ["x"], ["z"], {"axis": 0}), {"x": SCALAR}), (("LRN", ["x"], ["z"], {"size": 3}), {"x": normal(3)}),
    (("BatchNormalization", list("xsbmv"), ["z"], {"training_mode": 1}), {"x": normal(3), **{n: normal(1) for n in "sbmv"}}),
    (("NonMaxSuppression", ["b", "s", "n"], ["z"]), {"b": normal(1, 3, 3), "s": normal(1, 1, 3), "n": np.array([2])}),
    (("ConstantOfShape", ["s"], ["z"]), {"s": np.array([40000, 40000])}), (("Expand", ["x", "s"], ["z"]), {"x": SCALAR, "s": np.array([1 << 40])})])
def test_what_does_not_fit_is_an_error_with_its_node(node, inputs):
    kind, ins, outs, *attributes = node
    model = made([helper.make_node(kind, ins, outs, **(attributes[0] if attributes else {}))], inputs, outs, opset=15)
    with pytest.raises(touchstone.ParseError, match=f"node 1 {kind}"):
        touchstone.onnx.run(model, inputs)


def run_one(kind, inputs, opset=15, outputs=("z",), **attributes):
    model = made([helper.make_node(kind, list(inputs), list(outputs), **attributes)], inputs, list(outputs), opset=opset)
    return touchstone.onnx.run(model, inputs)


def test_attributes_that_are_easy_to_miss():
    x = np.float32([[1, -2], [3, 4]])
    assert run_one("ReduceL1", {"x": np.float32(-3)}, opset=13)["z"] == 3
    assert run_one("GlobalLpPool", {"x": x.reshape(1, 1, 2, 2)}, p=1)["z"].item() == 10
    assert run_one("Pow", {"x": np.int32([3, 2]), "y": np.float32([.5, 10])})["z"].tolist() == [1, 1024]
    assert run_one("Range", {"a": np.array(2**53 + 1), "b": np.array(2**53 + 3), "c": np.array(1)})["z"].tolist() == [2**53 + 1, 2**53 + 2]
    assert run_one("Unique", {"x": np.array([2**60, 2**60 + 1])})["z"].tolist() == [2**60, 2**60 + 1]
    y = run_one("MaxPool", {"x": x.reshape(1, 1, 2, 2)}, outputs=("y", "z"), kernel_shape=[2, 2], pads=[0, 0, 1, 1])
    assert y["z"].reshape(-1).tolist() == [3, 3, 3, 3]
    assert run_one("GatherElements", {"x": x, "i": np.array([[1]])}, axis=1)["z"].tolist() == [[-2]]


def test_a_loop_without_a_limit_runs():
    """As PyTorch exports `while`: the largest int64 as the number of steps."""
    info = helper.make_tensor_value_info
    body = helper.make_graph([helper.make_node("Add", ["v", "v"], ["w"]), helper.make_node("ReduceSum", ["w"], ["s"], keepdims=0),
                              helper.make_node("Less", ["s", "most"], ["d"])], "b",
                             [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("v", TensorProto.FLOAT, [2])],
                             [info("d", TensorProto.BOOL, []), info("w", TensorProto.FLOAT, [2])])
    model = made([helper.make_node("Loop", ["n", "", "x"], ["z"], body=body)], {"x": np.float32([1, 1])}, ["z"],
                 {"n": np.array(2**63 - 1), "most": np.float32(100)})
    assert touchstone.onnx.run(model, {"x": np.float32([1, 1])})["z"].tolist() == [64, 64]


def test_names_are_no_formulas():
    """Values with names of parameters, words, made names, or that differ only in punctuation."""
    for a, b in (("axis", "shape"), ("const1_z", "const1__z"), ("x.y", "x/y"), ("None", "inf"), ("max", "f32"), ("step0_0__z", "weight0_0__z")):
        x, c = normal(3, 2), np.array([True, False, True])
        model = made([helper.make_node("Compress", [a, b], ["z"], axis=0), helper.make_node("Softmax", ["z"], ["p"], axis=1)], {a: x, b: c}, ["p"])
        values = touchstone.onnx.run(model, {a: x, b: c}, ["z", "p"])
        assert np.array_equal(values["z"], x[c])
        assert set(statuses(touchstone.onnx.judge(model, {a: x, b: c}, {"p": values["p"]})).values()) == {"PASS"}


def test_a_wrong_last_state_fails():
    x = normal(3, 2, 3)
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        model = made([helper.make_node(op, ["x", "w", "r"], ["y", "h"], hidden_size=4)], {"x": x}, ["y", "h"], {"w": normal(1, gates * 4, 3), "r": normal(1, gates * 4, 4)})
        values = touchstone.onnx.run(model, {"x": x})
        assert statuses(touchstone.onnx.judge(model, {"x": x}, {**values, "h": values["h"] + 1})) == {"y": "PASS", "h": "FAIL"}
