"""JAX: each function compiled by jax.jit on --device cpu, gpu or tpu. Written against its documented interface."""
import jax
import jax.numpy as jnp

from . import Adapter as _Adapter


class Adapter(_Adapter):
    name = "jax"

    def __init__(self, device=None):
        self.version = jax.__version__
        self.device = jax.devices(device)[0] if device else jax.devices()[0]
        if self.device.platform == "gpu":
            self.base = self.profile = "cuda"
        jax.config.update("jax_default_matmul_precision", "highest")
        self.functions = {
            "exp2": jnp.exp2, "log2": jnp.log2, "sin": jnp.sin, "sqrt": jnp.sqrt, "recip": jnp.reciprocal,
            "neg": jnp.negative, "add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "div": jnp.divide,
            "maximum": jnp.maximum, "mod": jnp.fmod, "cmplt": jnp.less, "cmpeq": jnp.equal, "exp": jnp.exp, "log": jnp.log,
            "abs": jnp.abs, "sigmoid": jax.nn.sigmoid, "relu": jax.nn.relu, "silu": jax.nn.silu,
            "softmax": jax.nn.softmax, "log_softmax": jax.nn.log_softmax, "sum": jnp.sum, "mean": jnp.mean,
            "max": jnp.max, "min": jnp.min, "var": jnp.var, "cumsum": jnp.cumsum, "matmul": jnp.matmul,
        }

    def to(self, array):
        return jax.device_put(array, self.device)

    def run(self, op, arrays, attributes):
        compiled = jax.jit(lambda *inputs: self.functions[op](*inputs, **attributes))
        return self.back(compiled(*map(self.to, arrays)))

    def back(self, array):
        return jax.device_get(array)
