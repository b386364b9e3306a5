"""Random questions, and nearly correct certificates: changed steps of real ones, laws applied to parts that may be
undefined."""

import copy

from checker import fill
from notation import COMPARISONS, DIVISIONS, Trees, names, parts, text_of
from sums import cancelled

BOUNDS = ([0, 1], [0, 3], [0, 9], [1, 8], [-4, 4], [-1, 0], [3, 3], [0, 0], [-7, 20], [0, 1023])
OPEN = ([0, None], [None, 0], [1, None], [None, None], [-5, None])


class Drawing:
    def __init__(self, rng):
        self.rng = rng

    def variables(self):
        some = "abcxyz"[:self.rng.choice((1, 2, 2, 3))]
        return {name: list(self.rng.choice(OPEN if self.rng.random() < 0.15 else BOUNDS)) for name in some}

    def number(self):
        return str(self.rng.choice((0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 8, 12, -1, -2, -3, -4, -7, 64)))

    def leaf(self, variables):
        return self.rng.choice(sorted(variables)) if self.rng.random() < 0.7 else self.number()

    def divisor(self, variables):
        kind = self.rng.random()
        if kind < 0.6:
            return str(self.rng.choice((2, 3, 4, 4, 6, 8, 12, -1, -2, -3, -4)))
        if kind < 0.85:
            return self.rng.choice(sorted(variables))
        return f"({self.expression(variables, 1)} - {self.leaf(variables)})"

    def condition(self, variables, depth):
        kind = self.rng.random()
        if depth > 0 and kind < 0.35:
            left, right = self.condition(variables, depth - 1), self.condition(variables, depth - 1)
            return f"({left} {self.rng.choice(('and', 'or'))} {right})"
        if depth > 0 and kind < 0.45:
            return f"(not {self.condition(variables, depth - 1)})"
        left, right = self.expression(variables, depth), self.expression(variables, max(0, depth - 1))
        return f"({left} {self.rng.choice(sorted(COMPARISONS))} {right})"

    def expression(self, variables, depth):
        if depth == 0 or self.rng.random() < 0.1:
            return self.leaf(variables)
        kind = self.rng.random()
        left = self.expression(variables, depth - 1)
        if kind < 0.3:
            return f"({left} {self.rng.choice('+-')} {self.expression(variables, depth - 1)})"
        if kind < 0.45:
            return f"({left} * {self.number() if self.rng.random() < 0.7 else self.leaf(variables)})"
        if kind < 0.7:
            return f"({left} {self.rng.choice(('//', '%'))} {self.divisor(variables)})"
        if kind < 0.76:
            return f"{self.rng.choice(('tdiv', 'tmod'))}({left}, {self.divisor(variables)})"
        right = self.expression(variables, depth - 1)
        if kind < 0.86:
            return f"{self.rng.choice(('min', 'max'))}({left}, {right})"
        if kind < 0.95:
            return f"where({self.condition(variables, depth - 1)}, {left}, {right})"
        return self.condition(variables, depth - 1)

    def question(self):
        variables = self.variables()
        depth = self.rng.choice((2, 3, 3, 4))
        question = {"vars": variables, "in": self.expression(variables, depth)}
        if self.rng.random() < 0.3:
            name = self.rng.choice(sorted(variables))
            assumed = f"{name} % {self.rng.choice((2, 3, 4))} == {self.rng.choice((0, 1))}"
            question["assume"] = [assumed if self.rng.random() < 0.4 else self.condition(variables, 1)]
        return question

    # Nearly correct certificates.

    def nearly(self, trees, tree):
        """The tree with one part changed."""
        places = [[]]
        for path in places:
            inner = tree
            for child in path:
                inner = inner.args[child]
            places += [path + [i] for i in range(len(inner.args))]
        path = self.rng.choice(places)
        part = tree
        for child in path:
            part = part.args[child]
        return trees.replace(tree, path, self.changed(trees, part, sorted(names(tree))))

    def changed(self, trees, part, variables):
        choice, one = self.rng.random(), trees.number(1)
        if part.op == "number" and choice < 0.8:
            return trees.number(part.leaf + self.rng.choice((-1, 1)))
        if part.op in COMPARISONS and choice < 0.7:
            return trees.make(self.rng.choice(sorted(COMPARISONS)), *part.args)
        if part.op in DIVISIONS and choice < 0.5:
            return trees.make(self.rng.choice(sorted(DIVISIONS)), *part.args)
        if part.op in ("and", "or", "+", "-", "*") and choice < 0.4:
            return trees.make(self.rng.choice(("and", "or") if part.op in ("and", "or") else "+-*"), *part.args)
        if part.args and choice < 0.8:
            return self.rng.choice(part.args)
        if variables and choice < 0.9:
            other = trees.name(self.rng.choice(variables))
            lost = trees.make("*", trees.number(0), trees.make("//", one, other))
            return trees.make("+", part, lost)  # equal except at zeros of `other`
        return trees.make(self.rng.choice("+-"), part, one)

    def step_alone(self, certificate):
        """One step of the main chain as a certificate, with one change that keeps its texts consistent; None without
        a step."""
        j = copy.deepcopy(certificate)
        if not j["steps"]:
            return None
        number = self.rng.randrange(len(j["steps"]))
        trees, step = Trees(), j["steps"][number]
        whole = trees.parse(j["steps"][number - 1]["whole"] if number else j["start"])
        before, after = trees.parse(step["before"]), trees.parse(step["after"])
        kind = self.rng.choice(("after", "before", "bounds", "bounds", "turn", "put", "put", "put", "free", "assume"))
        if kind == "after":
            after = self.nearly(trees, after)
        elif kind == "before":
            before = self.nearly(trees, before)
        elif kind == "turn":
            before, after, step["backwards"] = after, before, not step["backwards"]
        elif kind == "bounds" and j["variables"]:
            ends = j["variables"][self.rng.choice(sorted(j["variables"]))]
            end = self.rng.randrange(2)
            ends[end] = None if self.rng.random() < 0.3 or not isinstance(ends[end], int) else ends[end] + 2 * end - 1
        elif kind == "free":
            step["rule"] = self.rng.choice(("cases", "points", "arithmetic"))
            after = self.nearly(trees, self.rng.choice((before, after)))
        elif kind == "assume":
            j["assumptions"] = j["assumptions"][1:]
        result = trees.replace(whole, step["path"], after)
        whole = trees.replace(whole, step["path"], before)
        j.update(start=text_of(whole), result=text_of(result), steps=[step])
        step.update(before=text_of(before), after=text_of(after), whole=text_of(result))
        if kind == "put" and j["variables"]:
            self.put_everywhere(j, step)
        return j

    def put_everywhere(self, j, step):
        """Replaces a variable by a possibly undefined expression, in the step and everything it depends on."""
        trees, variables = Trees(), sorted(j["variables"])
        name, other = self.rng.choice(variables), self.rng.choice(variables)
        put = trees.parse(self.rng.choice((
            f"{name} + 0*(1//{other})", f"1//{other}", f"{name}%{other}", f"{other} - {other}", f"{name}*{other}",
            f"where({other} < 1, {name}, 1//{other})", f"{name}//({other} - {other})")))

        def replaced(text):
            return text_of(trees.rebuild(trees.parse(text), lambda n: put if n == name else trees.name(n)))

        for key in ("before", "after", "whole", "context"):
            step[key] = replaced(step[key])
        step["bindings"] = {key: replaced(text) for key, text in step["bindings"].items()}
        step["facts"] += [replaced(fact) for fact in step["facts"]]
        j.update(start=replaced(j["start"]), result=replaced(j["result"]))

    def law_in_use(self, name, law):
        """One step by a law whose variables are drawn parts; its condition holds at the step."""
        trees = Trees()
        sides = [None if s is None else trees.parse(s) for s in law]
        variables = {"a": [0, 4], "b": [0, 2], "c": [-2, 2]}
        cancels = self.rng.random() < 0.5
        drawn = self.plain_part if cancels else self.part
        put = {v: trees.parse(drawn(variables)) for v in sorted(names(*(s for s in sides if s is not None)))}
        lhs, rhs, when = (None if s is None else trees.rebuild(s, put.__getitem__) for s in sides)
        context = trees.parse(self.context(lhs, rhs) if cancels else "_")
        before, after = (trees.parse(cancelled(fill(trees, context, side))) if cancels else side for side in (lhs, rhs))
        backwards = self.rng.random() < 0.5
        if backwards:
            before, after = after, before
        facts = [f"{low} <= {v}" for v, (low, _) in variables.items()]
        facts += [f"{v} <= {high}" for v, (_, high) in variables.items()]
        whole, result, path = before, after, []
        form = "none" if when is None else self.rng.choice(("and", "where", "or", "none"))
        if form != "none":
            guard, zero = trees.make("not", when) if form == "or" else when, trees.number(self.rng.choice((0, 5)))
            more = [zero] if form == "where" else []
            whole, result = (trees.make(form, guard, part, *more) for part in (before, after))
            path = [1]
            facts += [text_of(t) for t in conjuncts(when)]
        step = {"rule": name, "backwards": backwards, "path": path, "before": text_of(before), "after": text_of(after),
                "bindings": {v: text_of(t) for v, t in put.items()}, "context": text_of(context), "facts": facts,
                "whole": text_of(result)}
        return {"variables": variables, "assumptions": [], "start": text_of(whole), "result": text_of(result),
                "steps": [step]}

    def context(self, lhs, rhs):
        """A context in which divisions of a side cancel."""
        s, t = (text_of(self.rng.choice([p for p in parts(lhs, rhs) if p.op in DIVISIONS] + [lhs, rhs])) for _ in "st")
        return self.rng.choice((f"_ - {s}", f"_ - {s}", f"_ - {s} - {t}", f"a*_ - a*{s}", f"where(_ == {s}, a, 5)",
                                f"where(_ < {s} + 1, a, c)", f"(_ - {s})*{t}", f"(_ - {s})//(b + 1)",
                                f"where(a < 0, {t}, _ - {s})", f"a >= 0 or _ == {s}"))

    def plain_part(self, variables):
        return self.rng.choice((self.rng.choice(sorted(variables)), "0", "1", "1", "-1", "a - a", "a - a", "a - a",
                                "a + 0//(a - a)", "a + a%(a - a)", "1//b"))

    def part(self, variables):
        v, w = self.rng.choice(sorted(variables)), self.rng.choice(sorted(variables))
        return self.rng.choice((v, v, self.number(), f"{v} - {w}", f"1//{v}", f"{w}%{v}", f"{v}//({w} - {w})",
                                f"where({w} > 0, 1//{w}, {v})", f"{v} + 0*(1//{w})", f"{v} < 1", f"1//{v} > 0",
                                f"{v} > 1 and 1//{w} < 2"))


def conjuncts(tree):
    return [t for a in tree.args for t in conjuncts(a)] if tree.op == "and" else [tree]
