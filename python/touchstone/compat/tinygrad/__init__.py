"""The names of tinygrad 0.8's tinygrad.shape and tinygrad.ops, over touchstone.symbolic and touchstone.view.

Programs written for those only need other imports. Results may be smaller than tinygrad's; division by a negative number
floors, unlike tinygrad's.
"""
