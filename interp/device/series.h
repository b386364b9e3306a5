#pragma once

#include <boost/multiprecision/cpp_int.hpp>

#include "touchstone/dtype/rounding.h"

// EXP2, LOG2 and SIN to any number of bits by integer series: replaces MPFR where that is missing
// (the playground), and cross-checks it.

namespace touchstone::interp {

using boost::multiprecision::cpp_int;

/// mantissa * 2^exponent.
struct Dyadic {
  cpp_int mantissa;
  int exponent = 0;
  static Dyadic of(double x);  // finite
};

/// A number digits * 2^-bits, known to within 2^kLost units of its last place.
struct Fixed {
  cpp_int digits;
  unsigned bits = 0;
};
inline constexpr unsigned kLost = 16;

/// 2^f for the fraction f = x - floor(x); times 2^floor(x) it is 2^x.
Fixed series_exp2_fraction(const Dyadic& x, unsigned bits);
/// floor(x).
cpp_int floor_of(const Dyadic& x);
/// x > 0.
Fixed series_log2(const Dyadic& x, unsigned bits);
Fixed series_sin(const Dyadic& x, unsigned bits);

/// Like the functions of scalar_exact.h.
UnpackedReal exact_exp2_by_series(double x);
UnpackedReal exact_log2_by_series(double x);
UnpackedReal exact_sin_by_series(double x);

}  // namespace touchstone::interp
