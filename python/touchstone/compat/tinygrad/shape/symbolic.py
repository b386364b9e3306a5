"""tinygrad.shape.symbolic: Variable and Node.

No / or % of a tree has a negative dividend, so a renderer may print the operators of C, which truncate.

>>> a, f = Variable("a", 0, 10), Variable("f", 0, 3)
>>> ((a*4 + f) // 4).render(), ((a*3 + f) % 3).render()
('a', '(f%3)')
>>> (a*8 + f + 3).render(), (a < 3).render(), (a >= 3).render()
('((a*8)+3+f)', '(a<3)', '((a*-1)<-2)')
>>> ((f - a) // 4).render()
'((((a*-1)+12+f)//4)+-3)'
>>> Node.ands([a < 3, f < 2]).render()
'((a<3) and (f<2))'
>>> sym_infer(a*2 + f, {a: 3, f: 1})
7
"""
from __future__ import annotations

import ast as _ast
import itertools as _itertools
import keyword as _keyword
import operator as _op
from typing import Union as _Union

from touchstone import Error as _Error
from touchstone._core import symbolic as _core

__all__ = ["AndNode", "DivNode", "LtNode", "ModNode", "MulNode", "Node", "NumNode", "OpNode", "RedNode", "SumNode",
           "Variable", "VariableOrNum", "create_ge_node", "create_lt_node", "create_node", "create_rednode", "is_sym_int",
           "render_python", "sint", "sym_infer", "sym_rename", "sym_render"]


def _core_of(value):
    if isinstance(value, Node):
        return value._node
    return _core.constant(value)


def _variables_of(*values):
    """The Variable objects of operands, by their names in the core."""
    known = {}
    for value in values:
        if isinstance(value, Node):
            for variable in value._variables:
                known.setdefault(variable._node, variable)
    return known


def _ends(value):
    ends = (value.min, value.max) if isinstance(value, Node) else (value, value)
    return ends if all(isinstance(end, int) for end in ends) else None


def _narrowed(tree, parts):
    """A sum, whose bounds lie within those of its parts as they were given: its shortest form may show less."""
    ends = [_ends(part) for part in (tree, *parts)]
    if isinstance(tree, (OpNode, RedNode)) and None not in ends:
        tree.min = max(ends[0][0], sum(low for low, _ in ends[1:]))
        tree.max = min(ends[0][1], sum(high for _, high in ends[1:]))
    return create_node(tree)


def _operator(apply, reverse=False):
    def method(self, b):
        other = _core_of(b)
        return self._of(apply(other, self._node) if reverse else apply(self._node, other), b)
    return method


class Node:
    """An integer expression. .min and .max are inclusive bounds of its values."""
    _node: _core.Node
    _variables: frozenset

    def _settle(self, node, variables):
        self._node, self._variables = node, frozenset(variables)
        self.min, self.max = node.bounds

    def render(self, ops=None, ctx=None):
        """Text that Python evaluates; ops: a function of (node, ops, ctx) per class. ctx "DEBUG" adds the bounds of
        variables, "REPR" gives an expression that builds the node."""
        ops = render_python if ops is None else ops
        return ops[type(self)](self, ops, ctx)

    def vars(self):
        return set(self._variables)

    def unbind(self):
        """The expression with all bindings removed, and None."""
        return self.substitute({v: v.unbind()[0] for v in self._variables if v.val is not None}), None

    def substitute(self, var_vals):
        replaced = {v._node.name: _core_of(to) for v, to in var_vals.items() if isinstance(v, Variable)}
        kept = [v for v in self._variables if v._node.name not in replaced]
        return _wrap(self._node.substitute(replaced), _variables_of(*kept, *var_vals.values()))

    @property
    def key(self):
        return self.render(ctx="DEBUG")

    @property
    def hash(self):
        return hash(self)

    def _identity(self):
        return self._node, frozenset((v.expr, v.val, v._limit) for v in self._variables if v._settled_by_more)

    def __eq__(self, other):
        if isinstance(other, Node):
            return self._identity() == other._identity()
        return self._node == other

    def __hash__(self):
        return hash(self._node)

    def __bool__(self):
        return not (self.max == self.min == 0)

    def __index__(self):
        """The value where all variables are bound: sizes of touchstone's tensors are numbers."""
        if any(v.val is None for v in self._variables):
            raise TypeError(f"{self} is no number: bind its variables")
        return self.substitute({v: NumNode(v.val) for v in self._variables}).b

    def __repr__(self):
        return self.render(ctx="REPR")

    def __str__(self):
        return f"<{self.key}>"

    def __reduce__(self):
        return _restored, (self._node, tuple(self._variables))

    def _of(self, node, *others):
        return _wrap(node, _variables_of(self, *others))

    def __neg__(self):
        return self._of(-self._node)

    def __add__(self, b):
        return _narrowed(self._of(self._node + _core_of(b), b), (self, b))

    __radd__ = __add__
    __mul__ = __rmul__ = _operator(_op.mul)
    __sub__, __rsub__ = _operator(_op.sub), _operator(_op.sub, True)
    __lt__, __le__, __gt__, __ge__ = map(_operator, (_op.lt, _op.le, _op.gt, _op.ge))
    __rfloordiv__, __rmod__ = _operator(_op.floordiv, True), _operator(_op.mod, True)

    def __floordiv__(self, b, factoring_allowed=True):
        assert not (isinstance(b, int) and b == 0), "division by 0"
        return self._of(self._node // _core_of(b), b)

    def __mod__(self, b):
        assert not (isinstance(b, int) and b <= 0), f"{self} % {b}: the modulus is not above 0"
        return self._of(self._node % _core_of(b), b)

    def expand_idx(self):
        """Its anonymous variable, or NumNode(0)."""
        return next((v for v in self._variables if v.expr is None), NumNode(0))

    def expand(self, idxs=None):
        """The expression at each value of the anonymous variable, or of these variables, the first fastest."""
        idxs = (self.expand_idx(),) if idxs is None else idxs
        return [self.substitute(dict(zip(idxs, map(NumNode, at)))) for at in self.iter_idxs(idxs)]

    @staticmethod
    def iter_idxs(idxs):
        yield from (at[::-1] for at in _itertools.product(*[range(v.min, v.max + 1) for v in idxs[::-1]]))

    @staticmethod
    def num(num):
        return NumNode(num)

    @staticmethod
    def sum(nodes):
        total = _core.constant(0)
        for n in nodes:
            total = total + _core_of(n)
        return _wrap(total, _variables_of(*nodes))

    @staticmethod
    def ands(nodes):
        return _wrap(_core.and_(1, *map(_core_of, nodes)), _variables_of(*nodes))


def _core_variable(expr, low, high):
    """The core's variable for any name; None is anonymous."""
    if expr is None:
        return _core.Variable("_", low, high)
    if not expr.startswith("_") and not _keyword.iskeyword(expr):
        try:
            return _core.Variable(expr, low, high)
        except _Error:  # the core's notation cannot express it
            pass
    return _core.Variable("__" + expr.encode().hex(), low, high)


class Variable(Node):
    """A variable with inclusive bounds; NumNode if they are equal. nmax may be a Node. .val is its bound value, or
    None."""

    def __new__(cls, expr, nmin, nmax):
        if nmin == nmax:
            return NumNode(nmin)
        return super().__new__(cls)

    def __init__(self, expr, nmin, nmax):
        assert 0 <= nmin and nmin <= nmax, f"invalid Variable {expr} {nmin} {nmax}"
        self.expr, self.val, self._limit = expr, None, None
        symbolic = isinstance(nmax, Node)
        self._settle(_core_variable(expr, nmin, nmax.max if symbolic else nmax), ())
        if symbolic:
            self.max, self._limit = nmax, self._node <= nmax._node
        self._variables = frozenset((self,))

    def __hash__(self):
        return hash(self._node)

    def bind(self, val):
        assert self.val is None and self.min <= val <= self.max, f"cannot bind {val} to {self}"
        self.val = val
        return self

    def unbind(self):
        assert self.val is not None, f"cannot unbind {self}"
        return Variable(self.expr, self.min, self.max), self.val

    @property
    def _val(self):
        return self.val

    @property
    def _settled_by_more(self):  # besides its name and bounds
        return self.val is not None or self._limit is not None

    def vars(self):
        return {self}

    def __reduce__(self):
        return _bound, (self.expr, self.min, self.max, self.val)


class NumNode(Node):
    def __init__(self, num):
        assert isinstance(num, int), f"{num} is not an int"
        self.b = num
        self._settle(_core.constant(num), ())

    def bind(self, val):
        assert self.b == val, f"cannot bind {val} to {self}"
        return self

    def substitute(self, var_vals):
        return self

    def unbind(self):
        return self, None

    def __index__(self):
        return self.b

    __int__ = __index__

    def __reduce__(self):
        return NumNode, (self.b,)


class OpNode(Node):
    """a op b; a is a Node, b an int or a Node."""

    def __init__(self, a, b):
        self.a, self.b = a, b
        self._settle(self._apply(a._node, _core_of(b)), _variables_of(a, b).values())

    @staticmethod
    def _apply(a, b):
        raise NotImplementedError


class LtNode(OpNode):
    _apply = staticmethod(lambda a, b: a < b)


class MulNode(OpNode):
    _apply = staticmethod(lambda a, b: a * b)


class DivNode(OpNode):
    _apply = staticmethod(lambda a, b: a // b)


class ModNode(OpNode):
    _apply = staticmethod(lambda a, b: a % b)


class RedNode(Node):
    """Many nodes."""

    def __init__(self, nodes):
        self.nodes = list(nodes)
        self._settle(self._fold([n._node for n in self.nodes]), _variables_of(*self.nodes).values())


class SumNode(RedNode):
    @staticmethod
    def _fold(nodes):
        total = _core.constant(0)
        for n in nodes:
            total = total + n
        return total

    @property
    def flat_components(self):
        return [part for n in self.nodes for part in (n.flat_components if isinstance(n, SumNode) else [n])]


class AndNode(RedNode):
    @staticmethod
    def _fold(nodes):
        return _core.and_(1, *nodes)


# ---- from the core's shortest text to a tree of these classes


class _Tree:
    def __init__(self, variables):
        self.by_name = {v._node.name: v for v in variables}

    def node(self, e):
        if isinstance(e, _ast.Constant):
            return NumNode(int(e.value))
        if isinstance(e, _ast.Name):
            return self.by_name[e.id]
        if isinstance(e, _ast.UnaryOp):
            operand = self.node(e.operand)
            return _negated(operand) if isinstance(e.op, _ast.Not) else _scaled(operand, -1)
        if isinstance(e, _ast.BinOp):
            return self.binary(e.op, self.node(e.left), self.node(e.right))
        if isinstance(e, _ast.BoolOp):
            parts = [self.flag(v) for v in e.values]
            if isinstance(e.op, _ast.And):
                return _ands(parts)
            return _negated(_ands([_negated(p) for p in parts]))
        if isinstance(e, _ast.Compare):
            return self.comparison(e.ops[0], self.node(e.left), self.node(e.comparators[0]))
        if isinstance(e, _ast.Call):
            return self.call(e.func.id, e.args)
        raise RuntimeError(f"no node for {_ast.unparse(e)}")

    def flag(self, e):
        n = self.node(e)
        return n if 0 <= n.min and n.max <= 1 else self.comparison(_ast.NotEq(), n, NumNode(0))

    def binary(self, op, a, b):
        if isinstance(op, _ast.Add):
            return _sum([a, b])
        if isinstance(op, _ast.Sub):
            return _sum([a, _scaled(b, -1)])
        if isinstance(op, _ast.Mult):
            if isinstance(a, NumNode):
                return _scaled(b, a.b)
            return _scaled(a, b.b) if isinstance(b, NumNode) else MulNode(a, b)
        return _divided(DivNode if isinstance(op, _ast.FloorDiv) else ModNode, a, b)

    def comparison(self, op, a, b):
        if isinstance(op, (_ast.Gt, _ast.GtE)):
            swapped = _ast.Lt() if isinstance(op, _ast.Gt) else _ast.LtE()
            return self.comparison(swapped, _scaled(a, -1), _scaled(b, -1))
        if isinstance(op, _ast.NotEq):
            return _negated(self.comparison(_ast.Eq(), a, b))
        if isinstance(op, _ast.Eq):
            return _ands([self.comparison(_ast.LtE(), a, b), self.comparison(_ast.GtE(), a, b)])
        more = 1 if isinstance(op, _ast.LtE) else 0
        whole = _parts(a) + [_scaled(p, -1) for p in _parts(b)]
        limit = more - sum(p.b for p in whole if isinstance(p, NumNode))
        return LtNode(_sum([p for p in whole if not isinstance(p, NumNode)]), limit)

    def call(self, name, args):
        if name == "where":
            condition, a, b = self.flag(args[0]), self.node(args[1]), self.node(args[2])
            gap = _sum([a, _scaled(b, -1)])
            chosen = _scaled(condition, gap.b) if isinstance(gap, NumNode) else MulNode(gap, condition)
            return _sum([b, chosen])
        result = self.node(args[0])
        for arg in args[1:]:
            other = self.node(arg)
            a, b = (result, other) if name == "max" else (other, result)
            larger = self.comparison(_ast.Lt(), a, b)
            gap = _sum([other, _scaled(result, -1)])
            result = _sum([result, MulNode(gap, larger) if not isinstance(gap, NumNode) else _scaled(larger, gap.b)])
        return result


def _parts(n):
    return n.nodes if isinstance(n, SumNode) else [n]


def _scaled(n, factor):
    if factor == 0:
        return NumNode(0)
    if factor == 1:
        return n
    if isinstance(n, NumNode):
        return NumNode(n.b * factor)
    if isinstance(n, SumNode):
        return SumNode([_scaled(p, factor) for p in n.nodes])
    if isinstance(n, MulNode) and isinstance(n.b, int):
        return _scaled(n.a, n.b * factor)
    return MulNode(n, factor)


def _sum(nodes):
    parts = [p for n in nodes for p in _parts(n)]
    number = sum(p.b for p in parts if isinstance(p, NumNode))
    parts = [p for p in parts if not isinstance(p, NumNode)]
    if number or not parts:
        parts.append(NumNode(number))
    return parts[0] if len(parts) == 1 else SumNode(parts)


def _largest(n):
    return n if isinstance(n, int) else _largest(n.max)


def _divided(kind, a, b):
    """a // b or a % b with a dividend and a divisor that are never negative: multiples of the divisor are added, and taken off again."""
    if _largest(b.max) < 0:  # a // b is (-a) // (-b), and a % b is -((-a) % (-b))
        turned = _divided(kind, _scaled(a, -1), _scaled(b, -1))
        return turned if kind is DivNode else _scaled(turned, -1)
    turns = 0
    if a.min < 0 < b.min:
        turns = -(a.min // b.min)
        a = _sum([a, _scaled(b, turns)])
    made = kind(a, b.b if isinstance(b, NumNode) else b)
    return _sum([made, NumNode(-turns)]) if turns and kind is DivNode else made


def _negated(n):
    return _sum([NumNode(1), _scaled(n, -1)])


def _ands(nodes):
    parts = [p for n in nodes for p in (n.nodes if isinstance(n, AndNode) else [n])]
    return parts[0] if len(parts) == 1 else AndNode(parts)


_known: dict = {}
_MOST_KNOWN = 4096


def _wrap(node, variables):
    """The tree of a core node; variables: the objects for its variables, by core node."""
    limits = [v._limit for v in variables.values() if v._limit is not None]
    if limits:
        node = node.simplify(limits)
    inside = [variables[v] for v in node.variables]
    plain = not limits and all(v.val is None for v in inside)
    found = _known.get(node) if plain else None
    if found is not None and all(v.val is None for v in found._variables):
        return found
    if node.is_constant:
        tree = NumNode(int(node))
    else:
        tree = _Tree(inside).node(_ast.parse(node.render(), mode="eval").body)
        if tree not in inside:  # the core's own node, which equal trees share
            tree._node, tree._variables = node, frozenset(inside)
            tree.min, tree.max = node.bounds
    if plain:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[node] = tree
    return tree


def _restored(node, variables):
    return _wrap(node, {v._node: v for v in variables})


def _bound(expr, nmin, nmax, val):
    variable = Variable(expr, nmin, nmax)
    return variable if val is None else variable.bind(val)


def create_node(ret):
    """A number if the bounds leave one value."""
    assert ret.min <= ret.max, f"min greater than max! {ret.min} {ret.max}"
    return NumNode(ret.min) if ret.min == ret.max else ret


def create_rednode(typ, nodes):
    return create_node(typ(nodes))


def create_lt_node(lhs, rhs):
    return lhs < rhs


def create_ge_node(lhs, rhs):
    return lhs >= rhs


def is_sym_int(x):
    return isinstance(x, (int, Node))


def sym_render(a, ops=None, ctx=None):
    """The text of a number or an expression."""
    return a.render(ops, ctx) if isinstance(a, Node) else str(a)


def sym_infer(a, var_vals):
    """The value of an expression for these values of its variables."""
    if isinstance(a, (int, float)):
        return a
    ret = a.substitute({k: NumNode(v) if isinstance(v, int) else v for k, v in var_vals.items()})
    assert isinstance(ret, NumNode), f"sym_infer didn't produce NumNode from {a} with {var_vals}"
    return ret.b


def sym_rename(s):
    """A short name for an expression: s0, s1, ... in the order of first use."""
    return _names.setdefault(s, f"s{len(_names)}")


_names: dict = {}


def _text(b, ops, ctx):
    return b.render(ops, ctx) if isinstance(b, Node) else b


def _variable_text(self, ops, ctx):
    if ctx == "DEBUG":
        return f"{self.expr}[{self.min}-{self.max}{'=' + str(self.val) if self.val is not None else ''}]"
    if ctx == "REPR":
        return f"Variable('{self.expr}', {self.min}, {self.max})" + (f".bind({self.val})" if self.val is not None else "")
    return f"{self.expr}"


def _joined(sign):
    return lambda self, ops, ctx: f"({sign.join(sorted(n.render(ops, ctx) for n in self.nodes))})"


def _infix(sign):
    return lambda self, ops, ctx: f"({self.a.render(ops, ctx)}{sign}{_text(self.b, ops, ctx)})"


render_python = {
    Variable: _variable_text,
    NumNode: lambda self, ops, ctx: f"NumNode({self.b})" if ctx == "REPR" else f"{self.b}",
    MulNode: _infix("*"), DivNode: _infix("//"), ModNode: _infix("%"), LtNode: _infix("<"),
    SumNode: _joined("+"),
    AndNode: lambda self, ops, ctx: (f"Node.ands([{', '.join(sorted(n.render(ops, ctx) for n in self.nodes))}])"
                                     if ctx == "REPR" else _joined(" and ")(self, ops, ctx)),
}

sint = _Union[int, Variable, MulNode, SumNode]
VariableOrNum = _Union[Variable, NumNode]
