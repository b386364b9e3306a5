"""Layers, their functions, and losses; weights in files.

>>> from touchstone import Tensor
>>> net = Sequential(Linear(4, 8), Tensor.relu, Linear(8, 2))
>>> net(Tensor.ones((3, 4))).shape, len(net.parameters())
((3, 2), 4)
"""
from ._core.tensor import (BatchNorm, Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d, Dropout, Embedding, GRU,
                           GroupNorm, InstanceNorm, KvCache, LSTM, Layer, LayerNorm, LayerNorm2d, Linear,
                           MultiHeadAttention, RMSNorm, avg_pool, avg_pool2d, batch_norm, binary_cross_entropy,
                           binary_cross_entropy_with_logits, conv, conv_transpose, cross_entropy, dropout, group_norm,
                           huber_loss, instance_norm, l1_loss, layer_norm, layernorm, linear, load_state, load_tensors,
                           log_softmax, max_pool, max_pool2d, mse_loss, nll_loss, rms_norm, save_state,
                           scaled_dot_product_attention, softmax, Tensor)

__all__ = ["BatchNorm", "Conv1d", "Conv2d", "ConvTranspose1d", "ConvTranspose2d", "Dropout", "Embedding", "GRU",
           "GroupNorm", "InstanceNorm", "KvCache", "LSTM", "Layer", "LayerNorm", "LayerNorm2d", "Linear", "Module",
           "MultiHeadAttention", "RMSNorm", "Sequential", "avg_pool", "avg_pool2d", "batch_norm",
           "binary_cross_entropy", "binary_cross_entropy_with_logits", "conv", "conv_transpose", "cross_entropy",
           "dropout", "group_norm", "huber_loss", "instance_norm", "l1_loss", "layer_norm", "layernorm", "linear",
           "load_state", "load_tensors", "log_softmax", "max_pool", "max_pool2d", "mse_loss", "nll_loss", "rms_norm",
           "save_state", "scaled_dot_product_attention", "softmax"]


class Module:
    """Base of classes with layers, modules and tensors as attributes, or in list attributes."""

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
    """Layers and one-tensor functions, applied in sequence."""

    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x
