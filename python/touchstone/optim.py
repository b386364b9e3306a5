"""Optimizers: SGD, Adam, AdamW. zero_grad(), loss.backward(), step()."""
from ._core.tensor import SGD, Adam, AdamW, Optimizer

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
