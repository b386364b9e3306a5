"""Modules of StableHLO: computed as NumPy computes them, judged, refused; functions of JAX by recorded modules."""
import sys
import types

import numpy as np
import pytest

import touchstone
import touchstone.onnx
from touchstone.onnx import Model

RANDOM = np.random.default_rng(3)


def normal(*shape): return RANDOM.standard_normal(shape).astype(np.float32)


def module(body, types, results):
    arguments = ", ".join(f"%arg{i}: tensor<{t}>" for i, t in enumerate(types))
    return f"module @m {{\n  func.func public @main({arguments}) -> ({results}) {{\n{body}\n  }}\n}}\n".encode()


X, Y, V = normal(2, 3), normal(3, 4), normal(5)
I = np.int32([[2, 0], [1, 3]])

# (body, types of the arguments, the arguments, what NumPy computes)
CASES = {
    "compare": ("    %0 = stablehlo.compare  LT, %arg0, %arg1,  FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>\n    return %0 : tensor<2x3xi1>",
                ["2x3xf32", "2x3xf32"], [X, X[::-1].copy()], X < X[::-1]),
    "broadcast": ("    %0 = stablehlo.broadcast_in_dim %arg0, dims = [2, 0] : (tensor<2x3xf32>) -> tensor<3x4x2xf32>\n    return %0 : tensor<3x4x2xf32>",
                  ["2x3xf32"], [X], np.broadcast_to(X.T[:, None, :], (3, 4, 2))),
    "slice": ("    %0 = stablehlo.slice %arg0 [0:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>\n    return %0 : tensor<2x2xf32>", ["2x3xf32"], [X], X[:, ::2]),
    "generic slice": ('    %0 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 2, 3>, start_indices = array<i64: 1, 0>, strides = array<i64: 1, 2>}> : '
                      "(tensor<2x3xf32>) -> tensor<1x2xf32>\n    return %0 : tensor<1x2xf32>", ["2x3xf32"], [X], X[1:, ::2]),
    "dot_general": ("    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : "
                    "(tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>\n    return %0 : tensor<2x4xf32>", ["2x3xf32", "3x4xf32"], [X, Y], X @ Y),
    "reduce": ("    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>\n    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1] : "
               "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\n    return %0 : tensor<2xf32>", ["2x3xf32"], [X], X.sum(1)),
    "pad": ("    %cst = stablehlo.constant dense<2.0> : tensor<f32>\n    %0 = stablehlo.pad %arg0, %cst, low = [1, -1], high = [0, 2], interior = [1, 0] : "
            "(tensor<2x3xf32>, tensor<f32>) -> tensor<4x4xf32>\n    return %0 : tensor<4x4xf32>", ["2x3xf32"], [X],
            np.float32([[2] * 4, [*X[0, 1:], 2, 2], [2] * 4, [*X[1, 1:], 2, 2]])),
    "reduce_window": ('    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>\n    %0 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<[[1, 1]]> : tensor<1x2xi64>, '
                      "window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({\n    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):\n"
                      "      %1 = stablehlo.maximum %arg1, %arg2 : tensor<f32>\n      stablehlo.return %1 : tensor<f32>\n    }) : (tensor<5xf32>, tensor<f32>) -> tensor<3xf32>\n"
                      "    return %0 : tensor<3xf32>", ["5xf32"], [V], np.float32([V[:2].max(), V[1:4].max(), V[3:].max()])),
    "gather": ('    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], '
               "index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<3x4xf32>, tensor<2x2xi32>) -> tensor<2x2xf32>\n    return %0 : tensor<2x2xf32>",
               ["3x4xf32", "2x2xi32"], [Y, I], np.float32([Y[2, 0:2], Y[1, 2:4]])),  # the start 3 is moved to 2
    "scatter": ('    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], '
                "scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({\n    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n      %1 = stablehlo.add %a, %b : tensor<f32>\n"
                "      stablehlo.return %1 : tensor<f32>\n    }) : (tensor<3x4xf32>, tensor<2x2xi32>, tensor<2x2xf32>) -> tensor<3x4xf32>\n    return %0 : tensor<3x4xf32>",
                ["3x4xf32", "2x2xi32", "2x2xf32"], [Y, I, X[:, :2].copy()], np.float32([Y[0], Y[1], [*(Y[2, :2] + X[0, :2]), *Y[2, 2:]]])),  # the second is dropped
    "while": ("    %c = stablehlo.constant dense<0> : tensor<i32>\n    %0:2 = stablehlo.while(%i = %c, %x = %arg0) : tensor<i32>, tensor<5xf32>\n     cond {\n"
              "      %n = stablehlo.constant dense<3> : tensor<i32>\n      %1 = stablehlo.compare  LT, %i, %n,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
              "      stablehlo.return %1 : tensor<i1>\n    } do {\n      %one = stablehlo.constant dense<1> : tensor<i32>\n      %1 = stablehlo.add %i, %one : tensor<i32>\n"
              "      %2 = stablehlo.add %x, %x : tensor<5xf32>\n      stablehlo.return %1, %2 : tensor<i32>, tensor<5xf32>\n    }\n    return %0#1 : tensor<5xf32>", ["5xf32"], [V], V * 8),
    "iota": ("    %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>\n    return %0 : tensor<2x3xi32>", [], [], np.int32([[0, 1, 2]] * 2)),
    "constant": ('    %0 = stablehlo.constant dense<"0x0000803F000000C0"> : tensor<2xf32>\n    return %0 : tensor<2xf32>', [], [], np.float32([1, -2])),
    "complex": ("    %0 = stablehlo.complex %arg0, %arg0 : tensor<2x3xcomplex<f32>>\n    %1 = stablehlo.multiply %0, %0 : tensor<2x3xcomplex<f32>>\n"
                "    %2 = stablehlo.imag %1 : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>\n    return %2 : tensor<2x3xf32>", ["2x3xf32"], [X], 2 * X * X),
}


@pytest.mark.parametrize("name", CASES)
def test_an_operation_is_computed_and_judged(name):
    body, given, arrays, expected = CASES[name]
    model = Model(module(body, given, "tensor<*xf32>"))
    inputs = dict(zip(model.inputs, arrays))
    [made] = touchstone.onnx.run(model, inputs).values()
    assert made.shape == expected.shape and made.dtype == expected.dtype
    np.testing.assert_allclose(made, expected, rtol=1e-6)
    [output] = model.outputs
    assert touchstone.onnx.judge(model, inputs, {output: made})[0].status == "PASS"
    wrong = np.array(made)
    wrong.reshape(-1)[-1] = ~wrong.reshape(-1)[-1] if wrong.dtype == bool else wrong.reshape(-1)[-1] * 1.01 + 1
    assert touchstone.onnx.judge(model, inputs, {output: wrong})[0].status in ("FAIL", "NOT JUDGED")


def sorted_by(compare, more=""):
    return module(f'''    %0 = "stablehlo.sort"(%arg0) <{{dimension = 0 : i64}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
{more}      %1 = stablehlo.compare  {compare},  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }}) : (tensor<5xf32>) -> tensor<5xf32>
    return %0 : tensor<5xf32>''', ["5xf32"], "tensor<5xf32>")


def test_a_sort_follows_its_comparison():
    for compare, expected in (("LT, %a, %b", np.sort(V)), ("GT, %a, %b", -np.sort(-V)), ("LT, %b, %a", -np.sort(-V)), ("GT, %b, %a", np.sort(V))):
        [made] = touchstone.onnx.run(sorted_by(compare), {"arg0": V}).values()
        assert made.tolist() == expected.tolist()
    for compare, more in (("LT, %c, %d", "      %c = stablehlo.negate %a : tensor<f32>\n      %d = stablehlo.negate %b : tensor<f32>\n"), ("GE, %a, %b", "")):
        with pytest.raises(touchstone.ParseError, match="this case of the operator is not supported"):
            touchstone.onnx.run(sorted_by(compare, more), {"arg0": V})


def test_functions_are_called():
    text = b"""module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = call @"<twice>"(%arg0) : (tensor<2xf32>) -> tensor<2xf32>
    %1 = call @"<twice>"(%0) : (tensor<2xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
  func.func private @"<twice>"(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
"""
    assert [*touchstone.onnx.run(text, {"arg0": np.float32([1, 2])}).values()][0].tolist() == [4, 8]


BAD = {
    "there is no function 'main'": b"module {\n}\n",
    "expected 'module' or 'func.func'": b"modul {\n}",
    "line 3: stablehlo.add: nothing computes its operand '%1'": module("    %0 = stablehlo.add %arg0, %1 : tensor<f32>\n    return %0 : tensor<f32>", ["f32"], "tensor<f32>"),
    "line 3: call: there is no function 'g'": module("    %0 = call @g(%arg0) : (tensor<f32>) -> tensor<f32>\n    return %0 : tensor<f32>", ["f32"], "tensor<f32>"),
    "type 'tensor<2xq7>' is not supported": module("    return %arg0 : tensor<2xq7>", ["2xq7"], "tensor<2xq7>"),
    "and its type is tensor<3xf32>": module("    %0 = stablehlo.negate %arg0 : tensor<3xf32>\n    return %0 : tensor<3xf32>", ["2xf32"], "tensor<3xf32>"),
    "and is no return": module("    %0 = stablehlo.negate %arg0 : tensor<f32>", ["f32"], "tensor<f32>"),
    "a bracket without end": b"module {\n  func.func @main(%arg0: tensor<f32>",
}


@pytest.mark.parametrize("why", BAD)
def test_a_bad_module_is_refused(why):
    with pytest.raises(touchstone.ParseError) as error:
        touchstone.onnx.run(Model(BAD[why]), {"arg0": np.zeros(2, np.float32)})
    assert why in str(error.value)


def test_a_function_that_calls_itself_is_refused():
    with pytest.raises(touchstone.ParseError, match="too deeply"):
        Model(module("    %0 = call @main(%arg0) : (tensor<f32>) -> tensor<f32>\n    return %0 : tensor<f32>", ["f32"], "tensor<f32>"))


def test_a_module_cut_off_anywhere_is_refused_or_read():
    for body, given, _, _ in CASES.values():
        text = module(body, given, "tensor<f32>")
        for end in range(0, len(text), 5):
            try:
                Model(b"m" + text[:end] if not end else text[:end])
            except touchstone.ParseError:
                pass


def test_functions_of_jax_by_a_recorded_module(monkeypatch):
    """jax.jit(lambda x, w: jnp.tanh(x @ w)).lower(x, w).as_text() of JAX 0.11."""
    text = """module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) -> (tensor<2x4xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %1 = stablehlo.tanh %0 : tensor<2x4xf32>
    return %1 : tensor<2x4xf32>
  }
}
"""
    class Lowered:
        def lower(self, *inputs): return self
        def as_text(self): return text
    jax = types.ModuleType("jax")
    jax.jit = lambda fn: Lowered()
    jax.tree_util = types.SimpleNamespace(tree_leaves=lambda tree: [*tree] if isinstance(tree, tuple) else [tree])
    monkeypatch.setitem(sys.modules, "jax", jax)
    from touchstone import jax as door
    right = np.tanh(X @ Y)
    door.assert_legal(right, None, X, Y)
    assert np.allclose(door.run(None, X, Y)[0], right, rtol=1e-6)
    with pytest.raises(AssertionError, match="FAIL"):
        door.assert_legal(right * np.float32(1.001), None, X, Y)
    with pytest.raises(TypeError, match="returns 1 arrays, and 2 are given"):
        door.judge((right, right), None, X, Y)
