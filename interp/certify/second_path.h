#pragma once

#include <cstdint>

#include "touchstone/interp/certify/double_double.h"

// A second implementation of EXP2, LOG2 and SIN to check the scalar functions: it shares neither
// code nor algorithm with their libm. Arguments are values of float32 or a narrower type: at most
// 24 significant bits, exponents within float32's.

namespace touchstone::interp {

/// |result - true value| <= kSecondPathError * |true value| for the three functions.
inline constexpr double kSecondPathError = 0x1p-60;

/// 2^x by a table of 2^(k/32) and a polynomial. -160 < x < 130.
DoubleDouble second_exp2(double x);
/// log2(x) by a table of -log2(c), c near 1/x, and a polynomial in c*x - 1. x > 0, finite; exactly
/// 0 for x = 1.
DoubleDouble second_log2(double x);
/// sin(x) by a table at k/64, angle sums, and the bits of 2/pi that matter for x (Payne and Hanek
/// 1983). x finite and nonzero.
DoubleDouble second_sin(double x);

}  // namespace touchstone::interp
