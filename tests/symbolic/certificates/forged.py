"""Handmade false certificates: each claim is wrong at some point of the bounds; both checkers refuse it.

usage: forged.py FOLDER    writes each to its own file
"""

import json
import os
import sys

A, B, AB = {"a": [0, 10]}, {"b": [0, 3]}, {"a": [0, 10], "b": [0, 3]}
IN_A, IN_AB = ["0 <= a", "a <= 10"], ["0 <= a", "a <= 10", "0 <= b", "b <= 3"]


def step(rule, before, after, bindings=None, context="_", facts=(), path=(), whole=None, backwards=False):
    return {"rule": rule, "backwards": backwards, "path": list(path), "before": before, "after": after,
            "bindings": bindings or {}, "context": context, "facts": list(facts),
            "whole": after if whole is None else whole}


def chain(start, result, *steps):
    return {"start": start, "result": result, "steps": list(steps)}


def claim(variables, start, result, *steps, assumptions=()):
    return {"variables": variables, "assumptions": list(assumptions), **chain(start, result, *steps)}


def one(variables, rule, before, after, *more, **options):
    """A claim by one step on the whole."""
    return claim(variables, before, after, step(rule, before, after, *more, **options))


def law(variables, rule, before, after, context="_", facts=(), backwards=False, **bindings):
    return one(variables, rule, before, after, bindings, context, facts, backwards=backwards)


def inside(variables, whole, path, result, rule, before, after, facts=(), **bindings):
    """A claim by one step on a part."""
    return claim(variables, whole, result,
                 step(rule, before, after, bindings, facts=facts, path=path, whole=result))


# Laws with divisor 0, in a context with the same division: the old part, substituted, is undefined.
ZERO_DIVISOR = {
    "0 is a, by div.multiple of a divisor a - a":
        law(A, "div.multiple", "0", "a", "_ - 0//(a - a)", x="a", b="a - a", y="0"),
    "0 is 1, by div.multiple of a divisor a - a":
        law(A, "div.multiple", "0", "1", "_ - 0//(a - a)", x="1", b="a - a", y="0"),
    "(a*4 + b)//4 is a + 1, by div.multiple of a divisor a - a":
        claim(AB, "(a*4 + b)//4", "a + 1",
              step("div.split", "(a*4 + b)//4", "a", {"c": "4", "x": "a", "y": "b", "d": "1"}, facts=IN_AB),
              step("div.multiple", "a", "a + 1", {"x": "1", "b": "a - a", "y": "0"}, "a + _ - 0//(a - a)")),
    "0 is a, by div.multiple of a divisor b that may be 0":
        law({"a": [0, 10], "b": [0, 0]}, "div.multiple", "0", "a", "_ - 0//b", x="a", b="b", y="-a*b"),
    "0 is a, by div.cancel of a factor 0":
        law(A, "div.cancel", "0", "a", "_ - 0//(a - a)", x="a + 0//(a - a)", b="1", y="a - a"),
    "a is 0, by div.div of a divisor a - a":
        law(A, "div.div", "a", "0", "_ - 0//(a - a)", facts=IN_A, x="0", a="a - a", y="a", c="1"),
    "a//3 is a//3 + 1, by div.div of a divisor a - a":
        law(A, "div.div", "a//3", "a//3 + 1", "a//3 + 1 + _ - 0//(a - a)", x="0", a="a - a", y="-1", c="1"),
    "c is a, by a choice on a quotient by a - a":
        law({"a": [0, 4], "c": [-2, 2]}, "div.multiple", "c", "a", "where(_ < (a - a + a)//(a - a) + 1, a, c)",
            backwards=True, x="1", b="a - a", y="a"),
    "5 is a, by a choice on an equal quotient by a - a":
        law(A, "div.multiple", "5", "a", "where(_ == 1 + a//(a - a), a, 5)", x="1", b="a - a", y="a"),
    "0 is -a*a, by a product with a difference of quotients by a - a":
        law(A, "div.multiple", "0", "-a*a", "a*_ - a*(a + 0//(a - a))", backwards=True, x="a", b="a - a", y="0"),
    "-a//(b + 1) is 0, by a difference of quotients by a - a in a quotient":
        law(AB, "div.multiple", "(-a)//(b + 1)", "0//(b + 1)", "(_ - (a + 0//(a - a)))//(b + 1)", x="a", b="a - a",
            y="0"),
    "5 has no value, by mod.multiple of a divisor a - a":
        law(A, "mod.multiple", "5", "5 + 0*(1%(a - a))", "5 + 0*_", x="a", b="a - a", y="1"),
    "a is 0, by mod.cancel of a factor 0":
        law(A, "mod.cancel", "a", "0", "a + _ - 0%(a - a)", x="-a + 0%(a - a)", b="1", y="a - a"),
    "0 has no value, by mod.cancel of a factor that may be 0, backwards":
        law(AB, "mod.cancel", "a%3*b", "a*b%(3*b)", backwards=True, x="a", b="3", y="b"),
    "a//3 has no value, by div.cancel of a factor that may be 0, backwards":
        law(AB, "div.cancel", "a//3", "a*b//(3*b)", backwards=True, x="a", b="3", y="b"),
    "a has no value, by divmod.join of a divisor that may be 0, backwards":
        law(AB, "divmod.join", "a", "b*(a//b) + a%b", backwards=True, x="a", b="b"),
    "a is a remainder by a - a, by mod.make":
        law(A, "mod.make", "a", "a%(a - a)", "_", x="a", b="a - a"),
    "3 has no value, by div.period of a divisor a - a":
        law(A, "div.period", "3", "3 + 0*((a*(1%(a - a)) + 1)//(a - a) + a*(1//(a - a)))", "3 + 0*_",
            x="a", k="1", y="1", c="a - a"),
    "3 has no value, by mod.period of a divisor a - a":
        law(A, "mod.period", "3", "3 + 0*((a*(1%(a - a)) + 1)%(a - a))", "3 + 0*_", x="a", k="1", y="1", c="a - a"),
    "0 has no value, by div.upper_half of a divisor a - a":
        law(A, "div.upper_half", "0", "a//(a - a)", x="a", c="a - a"),
    "0 has no value, by div.difference of a divisor a - a":
        law(A, "div.difference", "0", "a%(a - a)//(a - a)", x="a", k="0", m="0", c="a - a"),
    "0 is a, by div.exact of a divisor a - a, whose remainder is a binding":
        law(A, "div.exact", "0", "a", "_ + a%(a - a)", x="a", c="a - a", k="a%(a - a)"),
    "0 is a, by div.remainder of a remainder by a - a":
        law(A, "div.remainder", "0", "a", "_ - a%(a - a)", k="1", x="a", b="1", d="a - a", y="0"),
    "a//4 has no value, by digit.window backwards with a lost part":
        law(A, "digit.window", "a//4", "(4*3*(1//(a - a)) + a)//4%3", facts=IN_A, backwards=True,
            a="4", d="3", x="1//(a - a)", y="a"),
}

# Conditions that hold syntactically, as a remainder by 0 equals itself.
CONDITIONS = {
    "a + 1 is a, by mod.residue of a divisor a - a":
        law(A, "mod.residue", "0", "a", "a*(_ - (a%(a - a) + 1 - a)%(a - a))", x="a", y="1 - a", c="a - a",
            k="a%(a - a)"),
    "a is 10, by bounds.fixed of a number with a part that divides by 0":
        law(A, "bounds.fixed", "a", "10", "_ - 0*(1//(a - a))", IN_A, x="a + 0*(1//(a - a))",
            k="10 + 0*(1//(a - a))"),
    "a != 0 and a//0 is a//0, by and.remainder_apart of a condition that divides by 0":
        law(A, "and.remainder_apart", "a%(a - a) == 1 and a != a", "a%(a - a) == 1", x="a", c="a - a", k="1", m="a"),
    "0 has no value, by and.quotient_apart under a condition that divides by 0":
        inside(A, "a//(a - a) != 1 and (a//(a - a) == 1 and a != a)", [1],
               "a//(a - a) != 1 and a//(a - a) == 1", "and.quotient_apart", "a//(a - a) == 1 and a != a",
               "a//(a - a) == 1", ["a//(a - a) != 1"], x="a", c="a - a", k="1", m="a"),
    "0 has no value, by eq.gcd backwards under a condition that divides by 0":
        inside(A, "0%(a - a) != 0 and 0", [1], "0%(a - a) != 0 and 0 == 0", "cases", "0", "0 == 0",
               ["0%(a - a) != 0"]),
    "0 has no value, by and.assume of a condition that divides by 0":
        law(A, "and.assume", "1//(a - a) and 0", "1//(a - a) and 1", x="1//(a - a)", y="0", z="1"),
    "where(b != 0, a//b, 0) is a//b, by where.all of a condition that divides by 0":
        law(AB, "where.all", "where(b != 0, a//b, 0)", "a//b", facts=IN_AB, x="b != 0", y="a//b"),
    "a is 3, by a fact that divides by 0":
        one(A, "points", "a", "3", facts=["a == 3 + 0*(1//(a - a))"]),
}

# Untaken branches, and operands beside a deciding one, need not be defined.
BRANCHES = {
    "where.min of a factor that divides by 0":
        law(AB, "where.min", "where(a < 0, 1//b*a, 0)", "1//b*min(a, 0)", x="a", k="1//b"),
    "where.min_le of a factor that divides by 0":
        law({"a": [1, 10], "b": [0, 3]}, "where.min_le", "where(a <= 0, 1//b*a, 0)", "1//b*min(a, 0)", x="a",
            k="1//b"),
    "where.edge of a factor that divides by 0":
        law({"a": [-4, 0], "b": [0, 3]}, "where.edge", "where(a < 0, 1//b*a + 1, 0)",
            "1//b*a + where(a < 0, 1, 0)", facts=["-4 <= a", "a <= 0"], x="a", k="1//b", z="1"),
    "where.within backwards":
        law(AB, "where.within", "where(a < 6 and not a < 5, 1//b, 0)", "where(a < 6, 1//b, 0) - where(a < 5, 1//b, 0)",
            backwards=True, x="a < 6", y="a < 5", z="1//b"),
    "where.join backwards":
        law(AB, "where.join", "where(a < 3, a*(1//b) + a*2, 0)",
            "where(a < 3, a, 0)*(1//b) + where(a < 3, a, 0)*2", backwards=True, x="a < 3", y="a", k="1//b", z="a",
            m="2"),
    "where.and backwards":
        law(AB, "where.and", "where(1//b < 5 and a < 3, 1, 0)", "where(1//b < 5, where(a < 3, 1, 0), 0)",
            backwards=True, x="1//b < 5", y="a < 3", z="1"),
    "where.either backwards":
        law(AB, "where.either", "where(a < 30 or 1//b > 5, 1, 0)",
            "where(a < 30, 1, 0) + where(1//b > 5, 1, 0)", facts=IN_AB, backwards=True, x="a < 30", y="1//b > 5",
            z="1"),
    "a quotient by a - a stands in a branch that is not taken":
        law(A, "div.multiple", "where(a >= 0, 0, 1//(a - a))", "where(a >= 0, a, 1//(a - a))",
            "where(a >= 0, _ - 0//(a - a), 1//(a - a))", IN_A, x="a", b="a - a", y="0"),
    "a quotient by a - a stands in a branch that is not taken, before the one that is":
        law(A, "div.multiple", "where(a < 0, 0//(a - a), 0)", "where(a < 0, 0//(a - a), a)",
            "where(a < 0, 0//(a - a), _ - 0//(a - a))", IN_A, x="a", b="a - a", y="0"),
    "a quotient by a - a stands beside an alternative that decides":
        law(A, "div.multiple", "a >= 0 or 0//(a - a)", "(a >= 0 or 0//(a - a))*7",
            "(a >= 0 or 0//(a - a))*(1 + 6*(_ - 0//(a - a)))", IN_A, x="1", b="a - a", y="0"),
    "a guarded divisor in a new place without its guard":
        law(AB, "max.dominated", "where(b == 0, 1, a%b < 5)", "max(where(b == 0, 1, a%b < 5), a%b < 5)",
            facts=IN_AB, backwards=True, x="where(b == 0, 1, a%b < 5)", y="a%b < 5"),
    "and.assume of an alternative with a divisor that may be 0":
        law(AB, "and.assume", "(a < 3 or a%b < 0) and a < 30", "(a < 3 or a%b < 0) and a%b < 5", facts=IN_AB,
            x="a < 3 or a%b < 0", y="a < 30", z="a%b < 5"),
    "a fact without a value, beside an operand that decides":
        inside(A, "1//(a - a) == 7 and 0", [1], "1//(a - a) == 7 and 1", "points", "0", "1", ["1//(a - a) == 7"]),
    "facts without a value that contradict each other":
        inside(AB, "a%b == 7 and a == 11", [1], "a%b == 7 and a == 10", "cases", "a == 11", "a == 10",
               ["a%b == 7", *IN_AB]),
    "a refused alternative without a value as a fact":
        inside({"a": [0, 10], "b": [-3, 3]}, "1//b <= 5 or a == 10", [1], "1//b <= 5 or a == 11", "cases", "a == 10",
               "a == 11", ["not 1//b <= 5", "-3 <= b", "b <= 3", *IN_A]),
    "lt.where backwards":
        law(AB, "lt.where", "1//b == 1 and a < 0 or not 1//b == 1 and a < 0", "where(1//b == 1, a, a) < 0",
            backwards=True, x="1//b == 1", y="a", z="a"),
    "eq.where backwards":
        law({"a": [1, 10], "b": [0, 3]}, "eq.where", "1//b == 1 and a == 0 or not 1//b == 1 and a == 0",
            "where(1//b == 1, a, a) == 0", backwards=True, x="1//b == 1", y="a", z="a"),
    "where(b > 0, 1//b, 5) is a sum of products":
        one(B, "arithmetic.choice", "where(b > 0, 1//b, 5)", "(b > 0)*(1//b) + (1 - (b > 0))*5"),
    "a is a choice on a condition that divides by 0":
        one(AB, "arithmetic.choice", "a", "where(1//b > 0, a, a)"),
    "1 is an alternative that divides by 0":
        one(B, "arithmetic.logic", "1", "1//b > 0 or not 1//b > 0"),
    "b and b//0 keeps a value in one order only":
        inside(AB, "a < 0 and a//b == 1", [0], "a == a and a//b == 1", "cases", "a < 0", "a == a", ["a//b == 1"]),
    "a fact that holds beside a part decides for it":
        inside(AB, "a < 3 or a//3 == 0", [1], "a < 3 or 1", "points", "a//3 == 0", "1", ["a < 3"]),
}

# New divisions in steps without a law.
ARITHMETIC = {
    "a is a + 1//b - 1//b": one(AB, "arithmetic.terms", "a", "a + (1//b - 1//b)"),
    "0 is 0*tdiv(1, a - a)": one(A, "arithmetic.signs", "0", "0*tdiv(1, a - a)"),
    "a is a + 0*tmod(a, b)": one(AB, "arithmetic.terms", "a", "a + 0*tmod(a, b)"),
    "1 is 1//b == 1//b": one(B, "arithmetic.comparison", "1", "1//b == 1//b"),
    "a is min(a, max(a, 1//b))": one(AB, "arithmetic.extremes", "a", "min(a, max(a, 1//b))"),
    "a is min(a, max(a, 1//b)), in each case": one(AB, "cases", "a", "min(a, max(a, 1//b))", facts=IN_AB),
    "a divisor that is 0 elsewhere": one(AB, "arithmetic", "0*(a//(2*b - 5))", "0*(a//(4*b - 8))"),
    "a factor of a divisor that is not 0": one(AB, "arithmetic", "0*(a//(b + 1))", "0*(a//(b*b + b))"),
    "a divisor without its least value": one(AB, "cases", "0*(a//max(b, 1))", "0*(a//b)", facts=IN_AB),
    "tdiv(a, 2) is a//2": one({"a": [-5, 5]}, "arithmetic.signs", "tdiv(a, 2)", "a//2"),
    "tmod(a, 3) is a%3": one({"a": [-5, 5]}, "points", "tmod(a, 3)", "a%3"),
    "where(b, tdiv(a, b), 0) is tdiv(a, b)": one(AB, "cases", "where(b, tdiv(a, b), 0)", "tdiv(a, b)", facts=IN_AB),
    "the sign of a number past 2^63 turns":
        one({}, "arithmetic.numbers", "9223372036854775807 + 1", "-9223372036854775808"),
    "a multiple of 2^64 drops out": one(AB, "arithmetic", "a*18446744073709551616 + b", "b"),
}

# Facts that do not hold at the place, and circular assumptions.
SIMPLE = chain("a < 3", "a < 3")
FACTS = {
    "facts that contradict each other": one(A, "cases", "a", "7", facts=["a < 3", "3 < a"]),
    "a fact of the other branch":
        inside(A, "where(a < 3, 1, a//3)", [2], "where(a < 3, 1, 0)", "points", "a//3", "0", ["a < 3"]),
    "a fact of the other operand":
        inside(A, "(a < 3) + a//3", [1], "(a < 3) + 0", "points", "a//3", "0", ["a < 3"]),
    "a part as its own fact":
        inside(A, "a < 3 and a != 7", [0], "1 and a != 7", "cases", "a < 3", "1", ["a < 3"]),
    "a condition as its own fact":
        inside(A, "where(a < 3, 1, 2)", [0], "where(1, 1, 2)", "cases", "a < 3", "1", ["a < 3"]),
    "a fact that an earlier step has removed":
        claim(A, "a < 3 and a < 3", "1 and 1",
              step("cases", "a < 3", "1", facts=["a < 3"], path=[0], whole="1 and a < 3"),
              step("cases", "a < 3", "1", facts=["a < 3"], path=[1], whole="1 and 1")),
    "a bound that is not the variable's": one(A, "points", "a//10", "0", facts=["0 <= a", "a <= 9"]),
    "an assumption that is not made":
        claim(A, "a//3", "0", step("points", "a//3", "0", facts=["a < 3"]), assumptions=[chain("a < 4", "a < 4")]),
    "an assumption that becomes another one":
        claim(A, "a//3", "0", step("points", "a//3", "0", facts=["a < 3"]), assumptions=[chain("a < 4", "a < 3")]),
    "an assumption that is its own fact":
        claim(A, "a//3", "0", step("points", "a//3", "0", facts=["a < 3"]),
              assumptions=[chain("1", "a < 3", step("cases", "1", "a < 3", facts=["a < 3"]))]),
    "an assumption that follows from a later one, and that from it":
        claim(A, "a//3", "0", step("points", "a//3", "0", facts=["a < 3"]),
              assumptions=[chain("1", "a < 3", step("cases", "1", "a < 3", facts=["a < 3"])),
                           chain("1", "a < 3", step("cases", "1", "a < 3", facts=["a < 3"]))]),
    "an assumption changed by a step of arithmetic":
        claim(A, "a//3", "0", step("points", "a//3", "0", facts=["a < 3"]),
              assumptions=[chain("a < 5", "a < 3", step("arithmetic", "a < 5", "a < 3"))]),
    "an assumption that a step replaces by one with the same values where it holds":
        claim(AB, "b", "1", step("cases", "b", "1", facts=["b == 1"]),
              assumptions=[SIMPLE, chain("a < 4", "b == 1", step("cases", "a < 4", "b == 1", facts=["a < 3"]))]),
    "a condition of a law that follows from nothing":
        law(AB, "div.split", "(a*4 + b)//2", "a", x="a", c="2", y="b", d="1"),
    "a condition of a law that a false fact gives":
        law(AB, "div.range", "a//3", "0", facts=["0 <= a", "a < 3"], k="0", b="3", y="a"),
}

# Inconsistent texts.
STRUCTURE = {
    "a path into another operand":
        inside({"a": [0, 0], "b": [5, 9]}, "a + b", [1], "a + 0", "points", "a", "0", ["a == 0"]),
    "a path that leaves the tree": inside(A, "a + 1", [0, 0], "a + 2", "points", "a", "a + 1"),
    "a path whose number is 0 modulo 2^32":
        inside(A, "a + 1", [4294967296], "7 + 1", "points", "a", "7"),
    "a path of numbers below 0": inside(A, "a + 1", [-2], "7 + 1", "points", "a", "7"),
    "a path of fractions": inside(A, "a + 1", [0.5], "7 + 1", "points", "a", "7"),
    "a whole that the step does not make":
        claim(A, "a + 0", "a + 1", step("arithmetic", "a + 0", "a", whole="a + 1")),
    "a whole that changes beside the part":
        claim(AB, "a + b*1", "b + b", step("arithmetic", "b*1", "b", path=[1], whole="b + b")),
    "a result that no step makes": claim(A, "a + 0", "a + 1", step("arithmetic", "a + 0", "a")),
    "a result without a step": claim(A, "a", "a + 1"),
    "a step that begins elsewhere": claim(A, "a", "7", step("arithmetic", "7 + 0", "7")),
    "a part that is another one in other words":
        claim(AB, "a - b", "b - a", step("arithmetic", "b - a", "b - a", whole="b - a")),
    "a law that is not in the table": one(A, "div.magic", "a", "7"),
    "a law without a name": one(A, "", "a", "7"),
    "a law of arithmetic that there is none of": one(A, "arithmetic.magic", "a", "7"),
    "a step that nothing explains": one(A, "unexplained", "a", "7"),
    "a law whose side is another expression": law(A, "mul.flag", "a*a", "a", facts=["0 <= a", "a <= 1"], x="a"),
    "a law used the wrong way round":
        law(A, "mul.flag", "a", "a*a", facts=["0 <= a"], backwards=False, x="a"),
    "a law with one variable left open": law(AB, "bounds.fixed", "a", "b", facts=IN_AB, x="a"),
    "a context without the hole":
        law(A, "bounds.fixed", "a", "7", "a", facts=["7 <= 7"], x="7", k="7"),
    "a law whose variables take each other's places":
        law({"x": [0, 9], "y": [0, 3], "b": [1, 3]}, "div.multiple", "(y*b + x)//b", "x + x//b", x="y", y="x", b="b"),
    "a variable that is not declared":
        one({}, "points", "a", "7"),
}

# Invalid or duplicate names.
HIDDEN = [0, 0]
NAMES = {
    "a variable with the name of the hole":
        law({"_": [0, 5], "a": [0, 10]}, "bounds.fixed", "_", "a", "_", facts=["0 <= _", "_ <= 5"], x="_", k="a"),
    "a hole that is a variable as well":
        law({"_": [1, 5]}, "mul.flag", "_*_", "_", "_*_", facts=["1 <= _"], x="1"),
    "a name that ends with a blank": one({"a": [0, 10], "a ": HIDDEN}, "points", "a", "0", facts=["0 <= a", "a <= 0"]),
    "a name that begins with a blank":
        one({"a": [0, 10], " a": HIDDEN}, "points", "a", "0", facts=["0 <= a", "a <= 0"]),
    "a name in parentheses": one({"a": [0, 10], "(a)": HIDDEN}, "points", "a", "0", facts=["0 <= a", "a <= 0"]),
    "a name with a letter that looks like a":
        one({"a": [0, 10], "\u0430": HIDDEN}, "points", "a", "0", facts=["0 <= a", "a <= 0"]),
    "a name that a zero byte ends":
        one({"a": [0, 10], "a\u0000": HIDDEN}, "points", "a", "0", facts=["0 <= a", "a <= 0"]),
    "a name that is a word of the notation":
        one({"a": [0, 10], "min": HIDDEN}, "points", "a", "min(a, 0)", facts=["0 <= a"]),
    "a name that is a number": one({"a": [0, 10], "1": HIDDEN}, "points", "1", "0"),
    "a name that is a value": one({"True": HIDDEN}, "points", "True", "0"),
    "a name that is empty": one({"a": [0, 10], "": HIDDEN}, "points", "a", "0"),
}

# A dictionary cannot hold duplicate members.
TWICE = {
    "bounds given twice, the wider ones first":
        ('"a": [0, 10]', '"a": [0, 10], "a": [0, 0]', one(A, "points", "a", "0", facts=["0 <= a", "a <= 0"])),
    "bounds given twice, the wider ones last":
        ('"a": [0, 10]', '"a": [0, 0], "a": [0, 10]', one(A, "points", "a", "0", facts=["0 <= a", "a <= 0"])),
    "a binding given twice, the right one first":
        ('"k": "7"', '"k": "a", "k": "7"', law(A, "bounds.fixed", "a", "7", facts=IN_A, x="a", k="7")),
    "a binding given twice, the right one last":
        ('"k": "7"', '"k": "7", "k": "a"', law(A, "bounds.fixed", "a", "7", facts=IN_A, x="a", k="7")),
    "a result given twice": ('"result": "a + 1"', '"result": "a", "result": "a + 1"', claim(A, "a", "a + 1")),
    "a member given twice, once with its letters escaped":
        ('"a": [0, 10]', '"a": [0, 10], "\\u0061": [0, 0]',
         one(A, "points", "a", "0", facts=["0 <= a", "a <= 0"])),
    "steps given twice":
        ('"steps": []', '"steps": [], "steps": []', claim(A, "a", "a + 1")),
}


def forged():
    """{title: (the text of the certificate, the certificate without duplicate members)}"""
    groups = (ZERO_DIVISOR, CONDITIONS, BRANCHES, ARITHMETIC, FACTS, STRUCTURE, NAMES)
    found = {title: (json.dumps(j), j) for group in groups for title, j in group.items()}
    for title, (old, new, j) in TWICE.items():
        text = json.dumps(j)
        assert old in text, title
        found[title] = (text.replace(old, new), j)
    return found


if __name__ == "__main__":
    for number, (name, (words, _)) in enumerate(forged().items()):
        with open(os.path.join(sys.argv[1], f"{number:03}.json"), "w", encoding="utf-8") as out:
            out.write(words + "\n")
        print(f"{number:03}.json {name}")
