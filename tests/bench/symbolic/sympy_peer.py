#!/usr/bin/env python3
"""SymPy on R1 to R5: {"R1": {"us": .., "size": ..}, ..}. Its symbols are integers of known sign,
without bounds."""
import json
import sys
import time

try:
    import sympy
except ImportError:
    sys.exit("SymPy is not there")


class Number:
    """An expression with Python's operators, as SymPy writes them."""

    def __init__(self, e):
        self.e = e

    def __add__(self, o): return Number(self.e + of(o))
    def __mul__(self, o): return Number(self.e * of(o))
    def __floordiv__(self, o): return Number(sympy.floor(self.e / of(o)))
    def __mod__(self, o): return Number(sympy.Mod(self.e, of(o)))
    def __lt__(self, o): return self.e < of(o)
    def __ge__(self, o): return self.e >= of(o)


def of(x):
    return x.e if isinstance(x, Number) else sympy.Integer(x)


def var(name):
    return Number(sympy.Symbol(name, integer=True, nonnegative=True))


def r2():
    x = var("a") * 3 + var("b")
    return (x // 12 * 12 + x % 12 // 4 * 4 + x % 4).e


def r3():
    n = var("a") * 8 + var("b") + var("c")
    return (n // 1000 * 1000 + n // 100 % 10 * 100 + n // 10 % 10 * 10 + n % 10).e


def r4():
    y, x = var("y") + var("k"), var("x") + var("l")
    return sympy.And(y >= 0, y < 16, x >= 0, x < 16)


def r5():
    a, b, c, d, e, f = map(var, "abcdef")
    return ((((((a * 5 + b) * 4 + c) * 5 + d) * 4 + e) * 10 + f) // 20).e


def size(e):
    """Operators, variables and constants; an operator of k arguments counts k - 1, or 1 for one."""
    args = getattr(e, "args", ())
    return 1 if not args else max(1, len(args) - 1) + sum(map(size, args))


result = {}
for name, build in {"R1": lambda: (var("i") * 10 % 100 // 10).e, "R2": r2, "R3": r3, "R4": r4, "R5": r5}.items():
    times = []
    for _ in range(3):
        sympy.core.cache.clear_cache()
        start = time.perf_counter()
        simple = sympy.simplify(build())
        times.append(time.perf_counter() - start)
    result[name] = {"us": min(times) * 1e6, "size": size(simple)}
print(json.dumps(result))
