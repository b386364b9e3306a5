#!/usr/bin/env python3
"""A second checker of certificates, from what a certificate claims (docs/symbolic.md) and by evaluation alone.

usage: checker.py [--rules docs/rules.md] [--points N] [--laws] [FILE]

FILE holds one certificate, or lines as written by `touchstone simplify --certify` and `--jsonl --certify`. Prints a
line for each, ACCEPT or the first flaw with a point as its witness; exits with 0, 1 if one is refused, 2 if one cannot
be read. `--laws` tests each law of the table on small integers instead.

It shares no code with symbolic/check: it compares structure, and evaluates every proof obligation of a step with exact
integers at all points of the bounds, or at samples if there are more than N. So it can refute any certificate; ACCEPT
is a proof only if it reports that all points were tried.
"""

import argparse
import itertools
import json
import os
import random
import re
import sys
import zlib

from notation import DEEP, NotationError, Trees, Values, at, is_variable_name, names
from points import Sampler, all_points

RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/rules.md")
HOLE = "_"
# Steps that name no law of the table: only their values can be checked.
FREE_STEPS = {"arithmetic", "cases", "points"} | {
    "arithmetic." + law
    for law in ("numbers", "order", "terms", "comparison", "logic", "choice", "extremes", "signs")}


class Unreadable(Exception):
    """A text that is no certificate."""


class Flaw(Exception):
    """The reason to refuse a certificate. kind: "structure", "fact", "rule", or "value" if the claim itself is wrong."""

    def __init__(self, kind, where, what, point=None):
        at_point = "" if point is None else " at " + (", ".join(f"{n} = {v}" for n, v in point.items()) or "any point")
        super().__init__(f"{where}: {what}{at_point}")
        self.kind = kind


def read_rules(text):
    """{name: (lhs, rhs, condition or None)} of a page written by `touchstone prove --docs`."""
    found = {}
    for line in filter(None, "".join(text.split("```")[1::2]).splitlines()):
        name, law = re.fullmatch(r"(\S+) +(.*)", line).groups()
        sides, _, when = law.partition(" ; ")
        lhs, rhs = sides.split(" -> ")
        found[name] = (lhs, rhs, when or None)
    return found


def read_json(text):
    def once(pairs):
        found = dict(pairs)
        if len(found) != len(pairs):
            raise Unreadable(f"a member is given twice: {[name for name, _ in pairs]}")
        return found

    sys.setrecursionlimit(1_000)  # json recurses on the C stack
    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error
    finally:
        sys.setrecursionlimit(DEEP)


def a_list(j):
    if not isinstance(j, list):
        raise Unreadable(f"expected a list, found {j!r}")
    return j


def fill(trees, context, part):
    return trees.rebuild(context, lambda name: part if name == HOLE else trees.name(name))


class Chain:
    def __init__(self, trees, j):
        self.start, self.result = trees.parse(j["start"]), trees.parse(j["result"])
        self.steps = [Step(trees, s) for s in a_list(j["steps"])]

    def trees(self):
        return [self.start, self.result] + [t for s in self.steps for t in s.trees()]


class Step:
    def __init__(self, trees, j):
        self.rule, self.backwards, self.path = j["rule"], j["backwards"], j["path"]
        if not isinstance(self.rule, str) or not isinstance(self.backwards, bool):
            raise Unreadable("a rule is a text, and \"backwards\" is true or false")
        if not all(type(n) is int and n >= 0 for n in a_list(self.path)):
            raise Unreadable("a path has the numbers of operands, from 0")
        self.before, self.after, self.whole = (trees.parse(j[name]) for name in ("before", "after", "whole"))
        self.context = trees.parse(j["context"])
        self.bindings = {name: trees.parse(value) for name, value in j["bindings"].items()}
        self.facts = [trees.parse(fact) for fact in a_list(j["facts"])]
        self.filled = fill(trees, self.context, self.before)

    def trees(self):
        return [self.before, self.after, self.whole, self.filled, *self.bindings.values(), *self.facts]


def end_of(j):
    if j is None or type(j) is int:
        return j
    if isinstance(j, str) and re.fullmatch(r" *-? *[0-9]+ *", j):
        return int(j.replace(" ", ""))
    raise Unreadable(f"a bound is a whole number or null, not {j!r}")


class Certificate:
    """From an object written by `simplify --certify`, or from an answer with "certificate" and "out"."""

    def __init__(self, answer):
        self.trees = Trees()
        try:
            j = answer.get("certificate", answer)
            self.bounds = {}
            for name, ends in j["variables"].items():
                if not is_variable_name(name) or name == HOLE:
                    raise Unreadable(f"{name!r} is no name of a variable")
                low, high = ends
                self.bounds[name] = (end_of(low), end_of(high))
            self.assumptions = [Chain(self.trees, a) for a in a_list(j["assumptions"])]
            self.main = Chain(self.trees, j)
            self.answer = self.trees.parse(answer["out"]) if j is not answer else self.main.result
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Unreadable(f"no certificate: {type(error).__name__} {error}") from error
        except NotationError as error:
            raise Unreadable(str(error)) from error

    def texts(self):
        return [t for chain in [*self.assumptions, self.main] for t in chain.trees()]

    def check_names(self):
        for tree in self.texts():
            if unknown := names(tree) - set(self.bounds):
                raise Flaw("structure", "variables", f"{sorted(unknown)[0]} is not declared")


class Checker:
    def __init__(self, certificate, rules, most_points):
        self.c, self.trees, self.rules = certificate, certificate.trees, rules
        certificate.check_names()
        used = names(*certificate.texts())
        bounds = {name: ends for name, ends in certificate.bounds.items() if name in used}
        points = all_points(bounds, most_points)
        self.all = points is not None
        if not self.all:
            seed = zlib.crc32(repr([certificate.bounds, len(certificate.texts())]).encode())
            sampler = Sampler(self.trees, bounds, certificate.texts(), random.Random(seed))
            points = sampler.points(most_points, [a.start for a in certificate.assumptions])
        self.values = Values(points)

    def run(self):
        """Throws the first Flaw; returns the points where the claim was tried."""
        known = list(range(len(self.values.points)))
        for i, assumption in enumerate(self.c.assumptions):
            self.check_chain(f"assumption {i + 1}", assumption, known)
            holds = self.values.of(assumption.start)
            known = [p for p in known if holds[p]]
        self.check_chain("", self.c.main, known)
        start = self.values.of(self.c.main.start)
        return sum(start[p] is not None for p in known)

    def check_chain(self, chain_name, chain, known):
        whole = chain.start
        for i, step in enumerate(chain.steps):
            self.check_step(f"{chain_name} step {i + 1}".strip(), whole, step, known)
            whole = step.whole
        if whole is not chain.result:
            raise Flaw("structure", chain_name or "result", "the steps lead to another expression")

    def check_step(self, where, whole, step, known):
        if step.rule not in FREE_STEPS and step.rule not in self.rules:
            raise Flaw("structure", where, f"no law {step.rule!r}")
        if at(whole, step.path) is not step.before:
            raise Flaw("structure", where, "another part stands at the path")
        if self.trees.replace(whole, step.path, step.after) is not step.whole:
            raise Flaw("structure", where, "the whole is not what the part leaves of it")
        old, new = self.values.of(whole), self.values.of(step.whole)
        live = [p for p in known if old[p] is not None]
        self.same(where, "value", "the whole", old, new, live)
        live = self.reached(whole, step.path, live)
        for fact in step.facts:
            self.holds(where, "fact", "a fact", self.values.of(fact), live)
        if step.rule not in FREE_STEPS:
            self.check_rule(where, step, live)

    def check_rule(self, where, step, live):
        sides = [None if s is None else self.trees.parse(s) for s in self.rules[step.rule]]
        free = names(*(s for s in sides if s is not None))
        if free != set(step.bindings):
            raise Flaw("structure", where, f"{step.rule} has the variables {sorted(free)}")
        if HOLE not in names(step.context):
            raise Flaw("structure", where, "the context has no \"_\"")
        lhs, rhs, when = (None if s is None else self.trees.rebuild(s, step.bindings.__getitem__) for s in sides)
        if when is not None:
            self.holds(where, "rule", "the condition", self.values.of(when), live)
        self.same(where, "rule", "the law", self.values.of(lhs), self.values.of(rhs), live)
        old, new = (rhs, lhs) if step.backwards else (lhs, rhs)
        for words, side, part in (("the part before", old, step.before), ("the part after", new, step.after)):
            around = self.values.of(fill(self.trees, step.context, side))
            self.same(where, "rule", f"{words}, as its context has it,", around, self.values.of(part), live)

    def reached(self, whole, path, live):
        """The points where the whole depends on the part: its branches are taken, and no other operand decides."""
        for child in path:
            if whole.op == "where" and child > 0:
                chooses = self.values.of(whole.args[0])
                live = [p for p in live if (chooses[p] != 0) == (child == 1)]
            elif whole.op in ("and", "or"):
                beside = self.values.of(whole.args[1 - child])
                live = [p for p in live if beside[p] is None or (beside[p] != 0) == (whole.op == "and")]
            whole = whole.args[child]
        return live

    def same(self, where, kind, words, old, new, live):
        for p in live:
            if old[p] is None or new[p] is None or old[p] != new[p]:
                said = ["no value" if v is None else v for v in (old[p], new[p])]
                raise Flaw(kind, where, f"{words} is {said[0]}, then {said[1]}", self.values.points[p])

    def holds(self, where, kind, words, column, live):
        for p in live:
            if not column[p]:
                said = "has no value" if column[p] is None else "does not hold"
                raise Flaw(kind, where, f"{words} {said}", self.values.points[p])


def check(j, rules, most_points=20_000):
    """Throws Unreadable or Flaw; returns the number of points tried and whether these are all."""
    certificate = Certificate(j)
    checker = Checker(certificate, rules, most_points)
    tried = checker.run()
    if certificate.answer is not certificate.main.result:
        raise Flaw("structure", "out", "the answer is another expression")
    return tried, checker.all


def law_points(free, rng, count):
    if 9 ** len(free) <= count:
        side = next(s for s in range(20, 0, -1) if (2 * s + 1) ** len(free) <= count)
        return [dict(zip(free, v)) for v in itertools.product(range(-side, side + 1), repeat=len(free))]
    return [{name: rng.randint(-size, size) for name in free} for size in (3, 4, 4, 8) for _ in range(count // 4)]


def check_law(law, count=4_000):
    """Tests a law on small integers: returns a counterexample or None, and the number of points where it applies."""
    trees = Trees()
    lhs, rhs, when = (trees.parse(text or "1") for text in law)
    points = law_points(sorted(names(lhs, rhs, when)), random.Random(1), count)
    values = Values(points)
    told = 0
    for point, old, new, holds in zip(points, values.of(lhs), values.of(rhs), values.of(when)):
        if holds and old is not None:
            told += 1
            if old != new:
                return point, told
    return None, told


def verdict(text, rules, most_points):
    """The line to print, and the exit status."""
    try:
        j = read_json(text)
        if isinstance(j, dict) and "error" in j:
            return "no answer", 0
        if isinstance(j, dict) and j.get("certificate", j) is None:
            return "no certificate", 1
        tried, every = check(j, rules, most_points)
        return f"ACCEPT ({tried} points, {'all there are' if every else 'sampled'})", 0
    except Unreadable as error:
        return f"unreadable: {error}", 2
    except Flaw as flaw:
        return f"REFUSE {flaw.kind}: {flaw}", 1


def try_laws(rules):
    worst = 0
    for name, law in rules.items():
        point, told = check_law(law)
        print(f"{name}: {'holds' if point is None else f'fails at {point}'} ({told} points)")
        worst = max(worst, int(point is not None))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", default="-")
    parser.add_argument("--rules", default=RULES)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--laws", action="store_true")
    options = parser.parse_args()
    with open(options.rules, encoding="utf-8") as file:
        rules = read_rules(file.read())
    if options.laws:
        return try_laws(rules)
    with sys.stdin if options.file == "-" else open(options.file, encoding="utf-8") as file:
        text = file.read()
    try:
        read_json(text)
        texts = [text]  # over one line or several
    except Unreadable:
        texts = [line for line in text.splitlines() if line.strip()]
    worst = 0 if texts else 2
    for one in texts:
        line, code = verdict(one, rules, options.points)
        print(line, flush=True)
        worst = max(worst, code)
    return worst


if __name__ == "__main__":
    sys.exit(main())
