"""The names of tinygrad 0.8's tinygrad.shape and tinygrad.ops, over touchstone.symbolic and touchstone.view.

Programs written for those only need other imports. Results may be smaller than tinygrad's, and equal results may have
other texts. Trees divide no negative numbers, so renderers may print C's operators. Division by a negative number floors.
"""
