# %% [markdown]
# # Drawing a view
# A view takes an index to an element of a buffer, or to padding. Movement moves no data: it makes another view.

# %%
from touchstone.view import ShapeTracker

t = ShapeTracker.from_shape((3, 4))
padded = t.permute([1, 0]).pad([(1, 1), (0, 0)])
print(padded)
svg = padded._repr_svg_()  # a notebook draws it by itself
assert svg.count("<rect") == 6 * 3
padded

# %% [markdown]
# A chain of operations is a stack of views, and often one view says the same.

# %%
chain = t.reshape([12]).reshape([2, 6]).permute([1, 0]).reshape([3, 4])
print(len(chain.views), "views, simplified to", len(chain.simplify().views))
print(chain.explain())

# %% [markdown]
# What the chain reads, as an expression of the index, and when it may be read:

# %%
index, valid = padded.expr_idxs()
print(index, "if", valid)
assert [index.evaluate({"idx0": i, "idx1": 0}) for i in range(1, 5)] == [0, 1, 2, 3]
