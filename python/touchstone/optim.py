"""Optimizers: zero_grad(), loss.backward(), step(); and learning rate schedules.

>>> from touchstone import Tensor
>>> x = Tensor([1.0, 2.0], requires_grad=True)
>>> sgd, rate = SGD([x], lr=1.0), step_decay(1.0, every=1, factor=0.5)
>>> for step in range(2):
...     sgd.lr = rate(step)
...     sgd.zero_grad()
...     x.sum().backward()
...     sgd.step()
>>> x.tolist()
[-0.5, 0.5]
"""
from ._core.tensor import (LAMB, SGD, Adam, AdamW, Optimizer, Plateau, clip_grad_norm, clip_grad_value, cosine, exponential,
                           milestones, one_cycle, polynomial, step_decay, warmup)

__all__ = ["LAMB", "SGD", "Adam", "AdamW", "Optimizer", "Plateau", "clip_grad_norm", "clip_grad_value", "cosine",
           "exponential", "milestones", "one_cycle", "polynomial", "step_decay", "warmup"]
