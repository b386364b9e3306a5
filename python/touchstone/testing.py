"""For tests: assertions that arrays are legal results of named operations.

>>> import numpy as np
>>> x = np.arange(6, dtype="float32").reshape(2, 3)
>>> assert_legal(x.sum(axis=1), "sum", x, axis=1)
<Verdict PASS: 2 elements, each with one legal answer; no probes>
>>> assert_legal(x.sum(axis=1) + 1, "sum", x, axis=1)
Traceback (most recent call last):
    ...
AssertionError: sum(x, axis=1): FAIL: 2 of 2 elements; first at (0): sum(x, axis=1) gave 0x40800000 (4.0), legal is 0x40400000 (3.0) under glibc (the default); no known declaration or fault explains all of it

What is legal follows from the operation's definition and a profile; no tolerance is tuned. help(touchstone.kernel) has
the arguments of the operations:

"""
from __future__ import annotations

import contextlib as _contextlib
import contextvars as _contextvars
import functools as _functools
import re as _re
import textwrap as _textwrap

from ._core.kernel import Verdict, definitions as _definitions
from . import kernel as _kernel
from ._judging import LIBRARY, check_op

__doc__ = (__doc__ or "") + _textwrap.fill(" ".join(_definitions), 120) + "\n"
__all__ = ["LIBRARY", "Record", "assert_legal", "judged", "judging"]

_listeners: list = []  # shared by all threads
# The open scopes of a thread or task, outermost first: their profiles and records.
_scopes: _contextvars.ContextVar[tuple] = _contextvars.ContextVar("touchstone_judging", default=())


class Record:
    """One verdict: .op, .verdict, .where (added by a listener), .call (the call as text)."""

    def __init__(self, op: str, call: str, verdict: Verdict):
        self.op, self.call, self.verdict, self.where = op, call, verdict, ""


def assert_legal(actual: object, op: object, *inputs: object, profile: str | None = None, weak_ok: bool = False,
                 **attributes: object) -> Verdict:
    """Asserts that `actual` is a legal result of the operation on these inputs; returns the verdict.

    actual: an array of the operation's shape, ignoring axes of size 1, and dtype.
    op: a name of touchstone.kernel.definitions; inputs and attributes are its arguments. Or a function of PyTorch that
        computes the same of these tensors (touchstone.torch).
    profile: the allowed arithmetic, a profile's name or its JSON; None: that of a `judging` scope, else "library" for
        operations whose algorithm is free, else "glibc" (docs/oracle.md).
    weak_ok: also accepts WEAK: most legal ranges are too wide to show an error.

    Raises AssertionError with the first illegal element, its index, its legal values and, if known, the cause. Raises
    ParseError, ShapeError, DTypeError, BufferError or TypeError for invalid arguments.
    """
    __tracebackhide__ = True
    scopes = _scopes.get()
    if profile is None and scopes:
        profile = scopes[-1][0]
    if callable(op):
        from . import torch as _torch
        verdict = _torch.judge(_functools.partial(op, **attributes), *inputs, actual=actual, profile=profile)
        op = getattr(op, "__name__", "function")
    else:
        verdict = check_op(actual, op, inputs, profile, attributes)
    signature = (getattr(getattr(_kernel, op, None), "__doc__", None) or "").partition("\n\n")[2].partition("\n")[0]
    names = [*_re.findall(r"(?<![=\w.-])[a-z]\w*(?=\??[,)])", signature), *["x"] * len(inputs)][:len(inputs)]
    call = f"{op}({', '.join(names + [f'{k}={v!r}' for k, v in attributes.items()])})"
    for listener in [*_listeners, *(records.append for _, records in scopes)]:
        listener(Record(op, call, verdict))
    if not verdict.legal or verdict.suspicion or (verdict.status == "WEAK" and not weak_ok):
        raise AssertionError(f"{call}: {verdict}" + (f"\n{verdict.suspicion}" if verdict.suspicion else ""))
    return verdict


def judged(op: str, *, profile: str | None = None, **attributes: object):
    """A decorator: asserts at every call that the function's result is legal."""
    def decorate(fn):
        @_functools.wraps(fn)
        def wrapper(*inputs):
            __tracebackhide__ = True
            actual = fn(*inputs)
            assert_legal(actual, op, *inputs, profile=profile, **attributes)
            return actual
        return wrapper
    return decorate


@_contextlib.contextmanager
def judging(profile: str | None = None):
    """A scope with its own profile that yields the list of its records; belongs to the thread or task that opens it."""
    records: list[Record] = []
    outside = _scopes.get()
    _scopes.set((*outside, (profile, records)))
    try:
        yield records
    finally:
        _scopes.set(outside)
