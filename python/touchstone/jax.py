"""Functions of JAX, judged operation by operation.

    touchstone.jax.assert_legal(actual, fn, *inputs)      # actual: what a kernel made of the inputs
    for value in touchstone.jax.judge(actual, fn, *inputs):
        print(value)

`fn` is lowered by jax.jit to StableHLO, which touchstone.onnx.Model reads. What is judged is the function as it is
traced: the operations between its inputs and the outputs are judged as one.
"""
from . import onnx as _onnx
from ._core.model import Model
from .adapters import Adapter as _Adapter

__all__ = ["Adapter", "assert_legal", "judge", "lowered", "run"]


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


class Adapter(_Adapter):
    """Each function compiled by jax.jit on --device cpu, gpu or tpu. XLA flushes subnormal numbers on a CPU, and computes
    exp2 by exp; on a GPU it divides and takes roots by PTX's approximate instructions."""
    name = "jax"

    def __init__(self, device=None):
        import jax
        import jax.numpy as jnp
        self.jax, self.version = jax, jax.__version__
        self.device = jax.devices(device)[0] if device else jax.devices()[0]
        self.declared = {"ulp": {"exp2": [2, 1]}, "flush": "both", "casts_saturate": False, "zeros_alike": True}
        if self.device.platform == "gpu":  # PTX ISA 9.1, 9.7.3: rcp and sqrt 2, div.full 2 units from the rounded result
            self.declared["base"] = "cuda"
            self.declared["ulp"].update({"sqrt": 2.5, "recip": 2.5, "div": 2.5})
        jax.config.update("jax_default_matmul_precision", "highest")
        names = ("exp2 log2 sin sqrt recip=reciprocal neg=negative add sub=subtract mul=multiply div=divide maximum mod=fmod "
                 "cmplt=less cmpeq=equal exp log abs sum mean max min var cumsum matmul std round=rint pow=power atan2=arctan2 "
                 "expm1 log10 log1p tanh cos tan asin=arcsin acos=arccos atan=arctan sinh cosh asinh=arcsinh acosh=arccosh "
                 "atanh=arctanh cbrt floor ceil trunc hypot")
        nn, late = jax.nn, {"erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "lgamma": "gammaln", "digamma": "digamma"}
        self.functions = {
            **{name: getattr(jnp, theirs or name) for name, _, theirs in (n.partition("=") for n in names.split())},
            **{name: getattr(nn, name) for name in ("sigmoid", "relu", "silu", "softmax", "log_softmax")},
            "rsqrt": lambda x: jax.lax.rsqrt(x), "softplus": lambda x: nn.softplus(x),
            "gelu": lambda x: nn.gelu(x, approximate=False), "gelu_tanh": lambda x: nn.gelu(x, approximate=True),
            "logsumexp": lambda x, axis: nn.logsumexp(x, axis=axis),
            **{name: lambda x, name=theirs: getattr(jax.scipy.special, name)(x) for name, theirs in late.items()},
        }

    def to(self, array, dtype):
        return self.jax.device_put(array, self.device)

    def run(self, op, arrays, attributes, dtype="float32"):
        compiled = self.jax.jit(lambda *inputs: self.functions[op](*inputs, **attributes))
        return self.back(compiled(*(self.to(a, dtype) for a in arrays)))

    def back(self, array):
        return self.jax.device_get(array)
