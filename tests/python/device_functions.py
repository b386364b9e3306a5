"""The largest error in ULP of each named function of float32 on a device, beside the reference in float64.

    PYTHONPATH=build/dev/python python3 tests/python/device_functions.py [DEVICE [COUNT]]

Arguments: COUNT random bit patterns, and as many normal numbers of each of five sizes.
"""
import sys

import numpy as np

from touchstone import Tensor

NAMES = ("exp expm1 log log10 log1p rsqrt sigmoid silu tanh erf erfc gelu softplus cos tan asin acos atan sinh cosh asinh acosh atanh cbrt "
         "lgamma digamma erfinv").split()
LEAST_NORMAL = 2.0**-126


def arguments(count):
    rng = np.random.default_rng(7)
    parts = [rng.integers(0, 2**32, count, dtype=np.uint32).view(np.float32)]
    parts += [(rng.standard_normal(count) * size).astype(np.float32) for size in (1e-3, 0.1, 1, 10, 100)]
    x = np.concatenate(parts)
    return x[np.isfinite(x)]


def errors(name, x, device):
    """(errors in ULP, 0 where the right result is not finite; the right results; which special results differ)."""
    right = getattr(Tensor(x.astype(np.float64), device="CPU"), name)().numpy()
    got = getattr(Tensor(x, device=device), name)().numpy().astype(np.float64)
    with np.errstate(all="ignore"):
        rounded = right.astype(np.float32)
        number = np.isfinite(rounded)
        ulp = np.maximum(np.spacing(np.abs(rounded)).astype(np.float64), 2.0**-149)
        off = np.where(number, np.abs(got - right) / ulp, 0)
    off = np.where(np.isnan(off), np.inf, off)
    return off, rounded, ~number & (got != rounded) & ~(np.isnan(right) & np.isnan(got))


def main(device="CLANG", count="400000"):
    x = arguments(int(count))
    for name in NAMES:
        off, right, differs = errors(name, x, device)
        normal = np.where(np.abs(right) >= LEAST_NORMAL, off, 0)
        at = np.argmax(normal)
        print(f"{name}: {normal[at]:.4g} at {x[at]}; with subnormal results {np.max(off):.4g}; special results differ: {differs.sum()}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
