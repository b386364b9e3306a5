"""What judge, testing and the adapters share."""
from . import kernel as _kernel

# EXP2, LOG2 and RECIP as functions that compute exp, log and the sigmoid by themselves leave them: a definition
# multiplies by log2(e) and ln(2) of the kernel's type. The constant and the product are off by 0.85 |x| units in the last
# place of 2^x, which is 1 of the 2 numbers of "exp2".
def library(base="glibc"):
    """A profile: that of `base`, and what functions may do that compute exp and log by themselves."""
    return (f'{{"name": "library, {base}", "base": "{base}", "ulp": {{"exp2": [1, 1], "log2": 3, "recip": 1}}, '
            '"casts_saturate": false, "zeros_alike": true}')


LIBRARY = library()

# With operations of the table alone: nothing but the order of sums is free in them.
_PLAIN = {"reads", "products", "windows", "reduces"}


def profile_for(op, profile, plain="", base="glibc"):
    """The profile that was asked for; else `plain` for operations of the table, and what a library may do for others."""
    if profile is not None:
        return profile
    signature = _kernel.definitions.get(op)
    if signature is None:
        return plain
    _, summary, group = signature
    if group in _PLAIN and op != "logsumexp" or group == "elementwise" and summary.endswith("of the op table"):
        return plain
    return library(base)


def kernel_of(op, inputs, attributes):
    """(kernel, arrays) of a definition over these arrays."""
    return _kernel._kernel._of_arrays(op, *inputs, **attributes)


def check_op(actual, op, inputs, profile, attributes):
    kernel, arrays = kernel_of(op, inputs, attributes)
    return _kernel.check(kernel, arrays, actual, profile_for(op, profile))
