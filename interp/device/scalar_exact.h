#pragma once

#include "touchstone/dtype/rounding.h"
#include "touchstone/ops/function.h"

namespace touchstone::scalar {

// The leading 64 bits of the true value with a sticky flag: round_once() of it is correct rounding
// to any float type. Uses MPFR, some microseconds a call. Throws only bad_alloc.

/// 2^x for finite x, |x| < 2^20.
UnpackedReal exact_exp2(double x);
/// log2(x) for finite x > 0.
UnpackedReal exact_log2(double x);
/// sin(x) for finite x.
UnpackedReal exact_sin(double x);
#ifndef TOUCHSTONE_WITHOUT_MPFR
/// f(x) or f(x, y) for finite operands in its domain with a finite result that is not 0; not for
/// the `exact` functions.
UnpackedReal exact_function(NamedFunction f, double x, double y);
#endif

}  // namespace touchstone::scalar
