"""Layers, and losses.

>>> from touchstone import Tensor
>>> net = Sequential(Linear(4, 8), Tensor.relu, Linear(8, 2))
>>> net(Tensor.ones((3, 4))).shape, len(net.parameters())
((3, 2), 4)
"""
from ._core.tensor import (BatchNorm, Conv2d, Embedding, Layer, LayerNorm, Linear, RMSNorm, Tensor, avg_pool2d,
                           cross_entropy, max_pool2d, mse_loss, scaled_dot_product_attention)

__all__ = ["BatchNorm", "Conv2d", "Embedding", "Layer", "LayerNorm", "Linear", "Module", "RMSNorm", "Sequential",
           "avg_pool2d", "cross_entropy", "max_pool2d", "mse_loss", "scaled_dot_product_attention"]


class Module:
    """What has layers, modules and tensors as attributes, or in lists of them."""

    def state(self):
        """(name, tensor) of each, by attribute."""
        return [entry for name, value in vars(self).items() for entry in _state(name, value)]

    def parameters(self):
        return [tensor for _, tensor in self.state() if tensor.requires_grad]


def _state(name, value):
    if isinstance(value, Tensor):
        return [(name, value)]
    if isinstance(value, (Layer, Module)):
        return [(f"{name}.{inner}", tensor) for inner, tensor in value.state()]
    if isinstance(value, (list, tuple)):
        return [entry for i, part in enumerate(value) for entry in _state(f"{name}.{i}", part)]
    return []


class Sequential(Module):
    """Layers and functions of one tensor, one after the other."""

    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x
