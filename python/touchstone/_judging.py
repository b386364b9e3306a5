"""What judge, testing and the adapters share."""
import json as _json

from . import kernel as _kernel

# Of functions that compute exp, log, roots and means by themselves (docs/oracle.md).
LIBRARY = "library"


def profile(declared, name="declared"):
    """The JSON of a profile: what an adapter declares, of which "base" is a name."""
    return _json.dumps({"name": name, "base": "glibc", **declared})


def _pair(error):
    return error if isinstance(error, list) else [error, 0]


def library(declared, more):
    """What an adapter declares of its device and, with `more`, of its functions, and what LIBRARY allows beside."""
    base, usual = (_json.loads(_kernel._kernel._profile(name))["ulp"] for name in (declared.get("base", "glibc"), LIBRARY))
    own = {**base, **declared.get("ulp", {}), **more.get("ulp", {})}
    ulp = {function: [max(numbers) for numbers in zip(_pair(own[function]), _pair(usual[function]))] for function in usual}
    return profile({**declared, **more, "ulp": ulp, "casts_saturate": False, "zeros_alike": True})


def profile_for(op, asked, declared=None, more=None):
    """The profile that was asked for; else that which is usual for a definition, with what is declared."""
    if asked is not None:
        return asked
    usual = _kernel._kernel._usual_profile(op)
    if not declared:
        return usual
    return library(declared, more or {}) if usual == LIBRARY else profile(declared)


def kernel_of(op, inputs, attributes):
    """(kernel, arrays) of a definition over these arrays."""
    return _kernel._kernel._of_arrays(op, *inputs, **attributes)


def check_op(actual, op, inputs, profile, attributes):
    kernel, arrays = kernel_of(op, inputs, attributes)
    return _kernel.check(kernel, arrays, actual, profile_for(op, profile))
