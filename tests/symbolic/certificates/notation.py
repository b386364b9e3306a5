"""The notation of index expressions: trees, their text, and their values, each from its definition.

Shares nothing with symbolic/expr and never simplifies a tree. A value is an exact integer or None (undefined): division
and remainder by 0 are undefined, and so is an operator with an undefined operand, except that

- `where(c, a, b)` evaluates only c and the branch taken;
- in `and` and `or` a deciding operand, 0 and 1, gives the value even if the other operand is undefined.
"""

import operator
import re
import sys

DEEP = 1_000_000  # frames of the parser, which recurses on an expression's depth
sys.setrecursionlimit(DEEP)
sys.set_int_max_str_digits(0)

LEVELS = {"or": 1, "and": 2, "<": 4, ">": 4, "<=": 4, ">=": 4, "==": 4, "!=": 4, "+": 5, "-": 5, "*": 6, "//": 6,
          "%": 6}
NOT, COMPARED, MINUS = 3, 4, 7
CALLS = {"min": (1, None), "max": (1, None), "where": (3, 3), "tdiv": (2, 2), "tmod": (2, 2)}
DIVISIONS = {"//", "%", "tdiv", "tmod"}
COMPARISONS = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "==": operator.eq,
               "!=": operator.ne}
RESERVED = {"and", "or", "not", "True", "False", *CALLS}
NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
TOKEN = re.compile(r"[ \t\n\r]*(?:([0-9]+)(?![A-Za-z_0-9])|([A-Za-z_][A-Za-z_0-9]*)|(//|<=|>=|==|!=|[-+*%<>(),]))")
END = re.compile(r"[ \t\n\r]*\Z")


class NotationError(Exception):
    """A text that is no expression."""


def is_variable_name(text):
    return NAME.fullmatch(text) is not None and text not in RESERVED


class Tree:
    """One node; equal trees of one Trees are one object, so `is` compares them."""
    __slots__ = ("op", "args", "leaf")

    def __init__(self, op, args, leaf):
        self.op, self.args, self.leaf = op, args, leaf  # leaf: of "number" the number, of "name" the name


class Trees:
    def __init__(self):
        self.all = {}
        self.read = {}

    def _one(self, op, args, leaf=None):
        key = (op, leaf, *map(id, args))
        found = self.all.get(key)
        if found is None:
            found = self.all[key] = Tree(op, args, leaf)
        return found

    def number(self, value):
        return self._one("number", (), value)

    def name(self, name):
        return self._one("name", (), name)

    def make(self, op, *args):
        if op == "neg" and args[0].op == "number":  # "-5" is a number
            return self.number(-args[0].leaf)
        return self._one(op, args)

    def parse(self, text):
        if not isinstance(text, str):
            raise NotationError(f"expected the text of an expression, found {text!r}")
        if text not in self.read:
            self.read[text] = _Parser(self, text).whole()
        return self.read[text]

    def rebuild(self, tree, leaf_of):
        """The tree with each name replaced by leaf_of(name)."""
        done = {}
        for part in parts(tree):
            if part.op == "name":
                done[part] = leaf_of(part.leaf)
            elif part.op != "number":
                done[part] = self.make(part.op, *(done[a] for a in part.args))
            else:
                done[part] = part
        return done[tree]

    def replace(self, tree, path, part):
        above = []
        for child in path:
            above.append(tree)
            tree = tree.args[child]
        for parent, child in zip(reversed(above), reversed(path)):
            part = self.make(parent.op, *parent.args[:child], part, *parent.args[child + 1:])
        return part


def at(tree, path):
    """The part at the path; None if the path leaves the tree."""
    for child in path:
        if child >= len(tree.args):
            return None
        tree = tree.args[child]
    return tree


def parts(*trees):
    """Every different part once, operands before the operators that hold them."""
    found, todo = {}, [(t, False) for t in reversed(trees)]
    while todo:
        tree, ready = todo.pop()
        if tree in found:
            continue
        if ready or not tree.args:
            found[tree] = True
        else:
            todo.append((tree, True))
            todo.extend((a, False) for a in tree.args)
    return list(found)


def names(*trees):
    return {t.leaf for t in parts(*trees) if t.op == "name"}


def text_of(tree):
    """A text that reads back to the same tree, with redundant parentheses."""
    a = [text_of(x) for x in tree.args]
    if not a:
        text = str(tree.leaf)
        return f"({text})" if text.startswith("-") else text
    if tree.op in LEVELS:
        return f"({a[0]} {tree.op} {a[1]})"
    if tree.op == "neg":
        return f"(-{a[0]})"
    return f"(not {a[0]})" if tree.op == "not" else f"{tree.op}({', '.join(a)})"


class _Parser:
    """Precedence climbing with Python's precedences; comparisons do not chain."""

    def __init__(self, trees, text):
        self.trees, self.text, self.tokens = trees, text, []
        place = 0
        while match := TOKEN.match(text, place):
            self.tokens.append(match.group(match.lastindex))
            place = match.end()
        if not END.match(text, place):
            raise NotationError(f"{text!r}: column {place + 1} begins no number, name or operator")
        self.tokens.append("")
        self.place = 0

    def fail(self, wanted):
        found = self.tokens[self.place] or "the end"
        raise NotationError(f"{self.text!r}: expected {wanted}, found {found!r}")

    def take(self, *wanted):
        token = self.tokens[self.place]
        if wanted and token not in wanted:
            self.fail(" or ".join(map(repr, wanted)))
        self.place += 1
        return token

    def whole(self):
        tree = self.expression(1)
        if self.tokens[self.place]:
            self.fail("an operator or the end")
        return tree

    def expression(self, level):
        left = self.operand(level)
        compared = False
        while LEVELS.get(self.tokens[self.place], 0) >= level:
            op = self.tokens[self.place]
            if LEVELS[op] == COMPARED:
                if compared:
                    self.fail("parentheses round one of two comparisons")
                compared = True
            elif LEVELS[op] < COMPARED:
                compared = False
            self.place += 1
            right = self.expression(LEVELS[op] + 1)
            left = self.made(op, left, right)
        return left

    def operand(self, level):
        token = self.take()
        if token.isdigit():
            return self.trees.number(int(token))
        if token == "not":
            if level > NOT:
                self.fail("parentheses round \"not\"")
            return self.trees.make("not", self.expression(NOT))
        if token == "-":
            return self.trees.make("neg", self.expression(MINUS))
        if token == "(":
            inner = self.expression(1)
            self.take(")")
            return inner
        if token in ("True", "False"):
            return self.trees.number(int(token == "True"))
        if token in CALLS:
            self.take("(")
            args = [self.expression(1)]
            while self.take(",", ")") == ",":
                args.append(self.expression(1))
            least, most = CALLS[token]
            if len(args) < least or (most is not None and len(args) > most):
                self.fail(f"{least} arguments of {token}, not {len(args)}")
            return self.made(token, *args)
        if not is_variable_name(token):
            self.place -= 1
            self.fail("a number, a name, \"(\", \"-\" or \"not\"")
        return self.trees.name(token)

    def made(self, op, *args):
        if op in DIVISIONS and args[-1].op == "number" and args[-1].leaf == 0:
            self.fail("a divisor that is not 0")  # the notation cannot express it
        return self.trees.make(op, *args)


def truncated(a, b):
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


TOTAL = {"+": operator.add, "-": operator.sub, "*": operator.mul, **COMPARISONS}
DIVIDED = {"//": operator.floordiv, "%": operator.mod, "tdiv": truncated, "tmod": lambda a, b: a - b * truncated(a, b)}


class Values:
    """The values of trees at a list of points, a column per tree. A point is {name: number}."""

    def __init__(self, points):
        self.points, self.columns = points, {}

    def of(self, tree):
        if tree not in self.columns:
            for part in parts(tree):
                if part not in self.columns:
                    self.columns[part] = self._column(part)
        return self.columns[tree]

    def _column(self, tree):
        op = tree.op
        if op == "number":
            return [tree.leaf] * len(self.points)
        if op == "name":
            return [p[tree.leaf] for p in self.points]
        args = [self.columns[a] for a in tree.args]
        if op == "where":
            return [None if c is None else a if c else b for c, a, b in zip(*args)]
        if op in ("and", "or"):
            return self._junction(op, *args)
        if op == "neg":
            return [None if a is None else -a for a in args[0]]
        if op == "not":
            return [None if a is None else int(not a) for a in args[0]]
        if op in ("min", "max"):
            best = min if op == "min" else max
            return [None if None in row else best(row) for row in zip(*args)]
        if op in DIVIDED:
            f = DIVIDED[op]
            return [None if a is None or not b else f(a, b) for a, b in zip(*args)]  # undefined
        f = TOTAL[op]
        if op in COMPARISONS:
            return [None if a is None or b is None else int(f(a, b)) for a, b in zip(*args)]
        return [None if a is None or b is None else f(a, b) for a, b in zip(*args)]

    @staticmethod
    def _junction(op, left, right):
        decides = int(op == "or")  # the operand value that decides the whole

        def value(a, b):
            for x in (a, b):
                if x is not None and bool(x) == bool(decides):
                    return decides
            return None if a is None or b is None else 1 - decides

        return [value(a, b) for a, b in zip(left, right)]
