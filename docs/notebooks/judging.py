# %% [markdown]
# # Judging a backend
# An output is judged against every result that a conforming device may give. No tolerance is tuned: what is legal
# follows from the definition of the operation.

# %%
import numpy as np

import touchstone
from touchstone import kernel
from touchstone.testing import assert_legal

x = np.random.default_rng(0).normal(size=(8, 33)).astype("float32")


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


print(assert_legal(softmax(x), "softmax", x, axis=1))

# %% [markdown]
# A verdict says how much it could see: *power* is the relative error that could go unnoticed. Now a fault: the sums
# run in float16.

# %%
half = (np.exp(x) / np.exp(x).sum(axis=1, keepdims=True, dtype="float16")).astype("float32")
kernel_of_softmax = kernel.Kernel.from_formula("softmax(x[8,33], axis=1)")
verdict = kernel.check(kernel_of_softmax, [x], half)
print(verdict.status, "at", verdict.index, "was", verdict.candidate, "legal is", verdict.interval)
assert verdict.status == "FAIL"

# %% [markdown]
# How the legal values of that element come about, node by node:

# %%
for node in kernel.explain(kernel_of_softmax, [x], verdict.index):
    print(node.text, "is", node.legal)

# %% [markdown]
# Inputs can be drawn, in every family that shows faults of the operation.

# %%
print(touchstone.judge(lambda a, b: a @ b, reference="matmul", inputs=[(17, 40), (40, 9)]))
