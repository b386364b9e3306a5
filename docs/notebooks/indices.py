# %% [markdown]
# # Following an index expression
# Integers with bounds, `//` and `%` as floor. An expression is always in its simplest known form.

# %%
from touchstone.symbolic import Variable, prove, simplify, steps

a, b = Variable("a", 0, 10), Variable("b", 0, 3)
print((a*4 + b) // 4, (a*4 + b) % 4, (a*4 + b).bounds)
assert (a*4 + b) // 4 == a

# %% [markdown]
# Every step of a simplification has a law, and the law a proof. In a notebook a derivation shows itself as a table.

# %%
derivation = steps("(x%12)//4*4 + x%4", {"x": (0, 99)})
for step in derivation.steps:
    print(step.before, "=", step.after, "by", step.rule or "arithmetic")
assert derivation.checked and derivation.result == "x%12"
derivation

# %% [markdown]
# The law itself, for all integers, and one that does not hold:

# %%
print(prove("x//c*c + x%c -> x ; c > 0"))
wrong = prove("(x + y)//c -> x//c + y//c ; c > 0")
print(wrong)
assert not wrong and wrong.counterexample

# %% [markdown]
# What is known at a place makes an expression shorter there.

# %%
x = Variable("x", 0, 99)
print(simplify(x % 12, assume=[x < 12]))
assert simplify(x % 12, assume=[x < 12]) == x
