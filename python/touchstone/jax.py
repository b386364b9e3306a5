"""Functions of JAX, judged operation by operation.

    touchstone.jax.assert_legal(actual, fn, *inputs)      # actual: what a kernel made of the inputs
    for value in touchstone.jax.judge(actual, fn, *inputs):
        print(value)

`fn` is lowered by jax.jit to StableHLO, which touchstone.onnx.Model reads. What is judged is the function as it is
traced: the operations between its inputs and the outputs are judged as one.
"""
from . import onnx as _onnx
from ._core.model import Model

__all__ = ["assert_legal", "judge", "lowered", "run"]


def lowered(fn, *inputs):
    """The Model of fn for inputs of these shapes and types, and {name: array} of them. Trees of arrays are flattened."""
    import jax
    text = jax.jit(fn).lower(*inputs).as_text()
    model = Model(text.encode())
    leaves = jax.tree_util.tree_leaves(inputs)
    if len(leaves) != len(model.inputs):
        raise TypeError(f"the function takes {len(model.inputs)} arrays, and {len(leaves)} are given: jit drops what is not used; "
                        "give it only arrays that it uses")
    return model, dict(zip(model.inputs, leaves))


def run(fn, *inputs):
    """The outputs of fn by the reference, as a list: every operation correctly rounded, sums exact."""
    model, given = lowered(fn, *inputs)
    made = _onnx.run(model, given)
    return [made[name] for name in model.outputs]


def _named(actual, fn, inputs):
    import jax
    model, given = lowered(fn, *inputs)
    leaves = jax.tree_util.tree_leaves(actual)
    if len(leaves) != len(model.outputs):
        raise TypeError(f"the function returns {len(model.outputs)} arrays, and {len(leaves)} are given")
    return model, given, {n: a for n, a in zip(model.outputs, leaves) if n in model.values}


def judge(actual, fn, *inputs, profile=""):
    """A touchstone.onnx.JudgedValue for each array of `actual`, a tree as fn returns."""
    model, given, values = _named(actual, fn, inputs)
    return _onnx.judge(model, given, values, profile=profile)


def assert_legal(actual, fn, *inputs, profile="", weak_ok=False):
    """As `judge`; raises AssertionError that names the first wrong array."""
    model, given, values = _named(actual, fn, inputs)
    _onnx.assert_legal(model, given, values, profile=profile, weak_ok=weak_ok)
