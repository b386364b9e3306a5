"""JAX: each function compiled by jax.jit on --device cpu, gpu or tpu. XLA flushes subnormal numbers
on a CPU, and computes exp2 by exp; on a GPU it divides and takes roots by PTX's approximate instructions."""
import jax
import jax.numpy as jnp

from . import Adapter as _Adapter


def _special(name):
    return lambda x: getattr(jax.scipy.special, name)(x)


class Adapter(_Adapter):
    name = "jax"

    def __init__(self, device=None):
        self.version = jax.__version__
        self.device = jax.devices(device)[0] if device else jax.devices()[0]
        self.declared = {"ulp": {"exp2": [2, 1]}, "flush": "both", "casts_saturate": False, "zeros_alike": True}
        if self.device.platform == "gpu":  # PTX ISA 9.1, 9.7.3: rcp and sqrt 2, div.full 2 units from the rounded result
            self.declared["base"] = "cuda"
            self.declared["ulp"].update({"sqrt": 2.5, "recip": 2.5, "div": 2.5})
        jax.config.update("jax_default_matmul_precision", "highest")
        self.functions = {
            "exp2": jnp.exp2, "log2": jnp.log2, "sin": jnp.sin, "sqrt": jnp.sqrt, "recip": jnp.reciprocal,
            "neg": jnp.negative, "add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "div": jnp.divide,
            "maximum": jnp.maximum, "mod": jnp.fmod, "cmplt": jnp.less, "cmpeq": jnp.equal, "exp": jnp.exp, "log": jnp.log,
            "abs": jnp.abs, "sigmoid": jax.nn.sigmoid, "relu": jax.nn.relu, "silu": jax.nn.silu,
            "softmax": jax.nn.softmax, "log_softmax": jax.nn.log_softmax, "sum": jnp.sum, "mean": jnp.mean,
            "max": jnp.max, "min": jnp.min, "var": jnp.var, "cumsum": jnp.cumsum, "matmul": jnp.matmul,
            "std": jnp.std, "rsqrt": lambda x: jax.lax.rsqrt(x), "softplus": lambda x: jax.nn.softplus(x),
            "gelu": lambda x: jax.nn.gelu(x, approximate=False), "gelu_tanh": lambda x: jax.nn.gelu(x, approximate=True),
            "logsumexp": lambda x, axis: jax.nn.logsumexp(x, axis=axis),
            **{name: _special(function) for name, function in (
                ("erf", "erf"), ("erfc", "erfc"), ("erfinv", "erfinv"), ("lgamma", "gammaln"), ("digamma", "digamma"))},
            "round": jnp.rint, "pow": jnp.power, "atan2": jnp.arctan2,
            **{name: getattr(jnp, name.replace("a", "arc", 1) if name[0] == "a" else name) for name in (
                "expm1", "log10", "log1p", "tanh", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh",
                "atanh", "cbrt", "floor", "ceil", "trunc", "hypot")},
        }

    def to(self, array, dtype):
        return jax.device_put(array, self.device)

    def run(self, op, arrays, attributes, dtype="float32"):
        compiled = jax.jit(lambda *inputs: self.functions[op](*inputs, **attributes))
        return self.back(compiled(*(self.to(a, dtype) for a in arrays)))

    def back(self, array):
        return jax.device_get(array)
