#pragma once

#include "touchstone/dtype/convert.h"
#include "touchstone/dtype/storage.h"
#include "touchstone/ops/function.h"

// The named functions, correctly rounded: libm in a wider format, then a test if its error could
// change the rounding (Ziv 1991), and MPFR if it could. Special values as C's Annex F; without MPFR
// (the playground) the wider value is rounded as it is.

namespace touchstone::scalar {

/// f(x), or f(x, y) of two operands, rounded once. Instantiated for every float type.
template <class T>
requires is_float_storage<T> T function(NamedFunction f, T x, T y = T{});

/// A value of W, double or long double, with a bound on its relative error in units of W's epsilon.
template <class W>
struct Near {
  W value;
  W error;
};
/// f as a function of real numbers.
template <class W>
Near<W> near_function(NamedFunction f, W x, W y);

}  // namespace touchstone::scalar
