"""The names of tinygrad 0.8's tinygrad.shape and tinygrad.ops, over touchstone.symbolic and touchstone.view.

A program written against those runs with other imports. Results may be smaller than there; division by a negative
number floors, which it did not do there.
"""
