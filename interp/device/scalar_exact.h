#pragma once

#include "touchstone/dtype/rounding.h"

namespace touchstone::scalar {

// The leading 64 bits of the true value, and whether anything follows: round_once() of it is
// correct rounding to any float type. By MPFR, some microseconds a call. Each throws nothing but
// bad_alloc.

/// 2^x for finite x, |x| < 2^20.
UnpackedReal exact_exp2(double x);
/// log2(x) for finite x > 0.
UnpackedReal exact_log2(double x);
/// sin(x) for finite x.
UnpackedReal exact_sin(double x);

}  // namespace touchstone::scalar
