"""Index expressions: integers with bounds, simplified by proved laws.

>>> a, b = Variable("a", 0, 10), Variable("b", 0, 3)
>>> (a*4 + b) // 4 == a, (a*4 + b) % 4 == b
(True, True)
>>> bounds(a % 3)
(0, 2)
>>> print(simplify(a % 12, assume=[a < 5]), where(a < 5, a, 7 + 0*a))
a where(a < 5, a, 7)
>>> print(a << 3 & 15, a >> 1, ~a, abs(a - 3), a**2)
a%2*8 a//2 -1 - a max(3 - a, a - 3) a*a
>>> (a // 3).evaluate({"a": 7})
2
>>> prove("x//c*c + x%c -> x ; c > 0")
<Proof proved>
>>> decide("x*x*x*x%16 == x%2", {"x": (None, None)})
<Proof proved>
>>> decide("x < 5", {"x": (0, 9)}).counterexample
{'x': 5}
>>> steps("(a*4 + b)//4", {"a": (0, 10), "b": (0, 3)})
<Derivation (a*4 + b)//4 = a, 1 steps>
>>> verify(certify("a*2//2", {"a": (0, 9)}))
(True, 'a*2//2 = a where a in [0, 9]')
>>> read("(x >> 2) << 2 | (x & 3)", "c", {"x": (0, 99)}), write(a // 3 % 2, "sympy")
([Node('x')], 'Mod(floor(a/3), 2)')
"""
from html import escape as _escape

from ._core import symbolic as _symbolic
from ._core.symbolic import (Derivation, Node, Proof, Session, Step, Variable, _latex, and_, bounds, certify, constant,
                             decide, eq, ge, gt, le, lt, max_, min_, ne, not_, or_, parse, prove, read, render, simplify,
                             steps, substitute, verify, where, write)

__all__ = ["Derivation", "Node", "Proof", "Session", "Step", "Variable", "and_", "bounds", "certify", "constant", "decide",
           "eq", "ge", "gt", "le", "lt", "max_", "min_", "ne", "not_", "or_", "parse", "prove", "read", "render", "simplify",
           "steps", "substitute", "verify", "where", "write"]


def _marked(parts, tag):
    before, part, behind = map(_escape, parts)
    return f"<code>{before}<{tag}>{part}</{tag}>{behind}</code>"


def _table(derivation):
    rows = [f"<tr><th></th><td><code>{_escape(derivation.start)}</code></td><td></td></tr>"]
    for step in derivation.steps:
        law = f"<code>{_escape(step.rule)}</code> {_escape(step.title)}"
        known = "; ".join(map(_escape, step.facts))
        rows.append(f"<tr><th>=</th><td>{_marked(step.after_parts, 'mark')}</td><td>{law}"
                    + (f" <small>({known})</small>" if known else "") + "</td></tr>")
    return f"<table><caption>{_escape(derivation.verdict)}</caption>{''.join(rows)}</table>"


Derivation._repr_html_ = _table  # type: ignore[attr-defined]
Node._repr_latex_ = lambda node: _latex(node.render())  # type: ignore[attr-defined]
Node._repr_html_ = lambda node: f"<code>{_escape(node.render())}</code>"  # type: ignore[attr-defined]


def _restored(text, variables):
    """Called by pickle; in Python, because pickle finds functions by name."""
    return _symbolic._read(text, variables)
