"""Code shared by judge, testing and the adapters."""
import json as _json

from . import kernel as _kernel

# The profile of functions that compute exp, log, roots and means themselves (docs/oracle.md).
LIBRARY = "library"


def profile(declared, name="declared"):
    """The JSON of a profile: an adapter's declarations, with a profile name as "base"."""
    return _json.dumps({"name": name, "base": "glibc", **declared})


def _pair(error):
    return error if isinstance(error, list) else [error, 0]


def library(declared, more):
    """An adapter's declarations for its device and, with `more`, its functions, plus LIBRARY's allowances."""
    base, usual = (_json.loads(_kernel._kernel._profile(name))["ulp"] for name in (declared.get("base", "glibc"), LIBRARY))
    own = {**base, **declared.get("ulp", {}), **more.get("ulp", {})}
    ulp = {function: [max(numbers) for numbers in zip(_pair(own[function]), _pair(usual[function]))] for function in usual}
    return profile({**declared, **more, "ulp": ulp, "casts_saturate": False, "zeros_alike": True})


def profile_for(kernel, asked, declared, more):
    """The requested profile, by default the kernel's usual one with the declarations applied."""
    if asked is not None:
        return asked
    if not declared:
        return ""
    return library(declared, more) if kernel.profile == LIBRARY else profile(declared)


def kernel_of(op, inputs, attributes):
    """(kernel, arrays) of a definition over these arrays."""
    return _kernel._kernel._of_arrays(op, *inputs, **attributes)


def _word(value):
    return str(list(value) if isinstance(value, tuple) else int(value) if isinstance(value, bool) else value)


def kernel_of_shapes(reference, shapes, dtype, attributes):
    """The kernel of a definition over inputs of these shapes."""
    loads = [_kernel.load(i + 1, shape, dtype) for i, shape in enumerate(shapes)]
    _kernel.call(reference, *loads, **attributes)  # raises TypeError for wrong arguments
    inputs = [f"x{i + 1}[{','.join(map(str, shape))}]:{dtype}" for i, shape in enumerate(shapes)]
    words = [f"{name}={_word(value)}" for name, value in attributes.items() if value is not None]
    return _kernel.Kernel.from_formula(f"{reference}({', '.join(inputs + words)})")


def check_op(actual, op, inputs, profile, attributes):
    kernel, arrays = kernel_of(op, inputs, attributes)
    return _kernel.check(kernel, arrays, actual, profile or "")
