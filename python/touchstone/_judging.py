"""What judge, testing and the adapters share."""
import json as _json

from . import kernel as _kernel

# EXP2, LOG2 and RECIP as functions that compute exp, log and the sigmoid by themselves leave them: a definition
# multiplies by log2(e) and ln(2) of the kernel's type. The constant and the product are off by 0.85 |x| units in the last
# place of 2^x, which is 1 of the 2 numbers of "exp2". A mean is often a product with 1/n, off by half a unit in 1/n and
# in the product.
_ULP = {"exp2": [1, 1], "log2": 3, "recip": 1, "div": 1.5}


def profile(name, declared):
    """The JSON of a profile: what an adapter declares, of which "base" is a name."""
    return _json.dumps({"name": name, "base": "glibc", **declared})


def merged(one, other):
    return {**one, **other, "ulp": {**one.get("ulp", {}), **other.get("ulp", {})}}


def library(declared=None):
    """A profile: that of a device (see `profile`), and what functions may do that compute exp and log by themselves."""
    declared = dict(declared or {})
    ulp = dict(declared.get("ulp", {}))
    for function, allowed in _ULP.items():
        pairs = [a if isinstance(a, list) else [a, 0] for a in (allowed, ulp.get(function, 0))]
        ulp[function] = [max(numbers) for numbers in zip(*pairs)]
    return profile("library", {**declared, "ulp": ulp, "casts_saturate": False, "zeros_alike": True})


LIBRARY = library()

# With operations of the table alone: nothing but the order of sums is free in them.
_PLAIN = {"reads", "products", "windows", "reduces"}
_DIVIDES = {"logsumexp", "mean", "var", "avg_pool2d"}


def profile_for(op, asked, declared=None, more=None):
    """The profile that was asked for; else what is declared for operations of the table, and with `more` what a library
    may do for others."""
    if asked is not None:
        return asked
    signature = _kernel.definitions.get(op)
    if signature is not None:
        _, summary, group = signature
        plain = group in _PLAIN and op not in _DIVIDES or group == "elementwise" and summary.endswith("of the op table")
        if not plain:
            return library(merged(declared or {}, more or {}))
    return profile("declared", declared) if declared else ""


def kernel_of(op, inputs, attributes):
    """(kernel, arrays) of a definition over these arrays."""
    return _kernel._kernel._of_arrays(op, *inputs, **attributes)


def check_op(actual, op, inputs, profile, attributes):
    kernel, arrays = kernel_of(op, inputs, attributes)
    return _kernel.check(kernel, arrays, actual, profile_for(op, profile))
