#pragma once

#include <cstdint>

// A second implementation of EXP2, LOG2 and SIN to check the scalar functions: it shares neither
// code nor algorithm with their libm. Arguments are values of float32 or a narrower type: at most
// 24 significant bits, exponents within float32's.

namespace touchstone::interp {

// Numbers as unevaluated sums of two doubles, about 106 bits (Dekker 1971). Without fused
// multiply-add, so that every machine computes the same bits. Requires round to nearest,
// -ffp-contract=off, and operands far from overflow and underflow.
struct DoubleDouble {
  double hi = 0;  // the double nearest to the sum
  double lo = 0;
};

/// a + b exactly, for |a| >= |b| or a = 0.
constexpr DoubleDouble quick_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// a + b exactly (Knuth).
constexpr DoubleDouble two_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// a * b exactly, by halves of 26 and 27 bits (Veltkamp).
constexpr DoubleDouble two_product(double a, double b) {
  constexpr double kSplit = 0x1p27 + 1;
  const double p = a * b;
  const double as = kSplit * a;
  const double bs = kSplit * b;
  const double ah = as - (as - a);
  const double bh = bs - (bs - b);
  const double al = a - ah;
  const double bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

/// Relative error below 2^-103, except for cancellation of hi's, where the bound is absolute.
constexpr DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble s = two_sum(a.hi, b.hi);
  return quick_two_sum(s.hi, s.lo + (a.lo + b.lo));
}

constexpr DoubleDouble operator+(DoubleDouble a, double b) {
  const DoubleDouble s = two_sum(a.hi, b);
  return quick_two_sum(s.hi, s.lo + a.lo);
}

/// Relative error below 2^-101.
constexpr DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble p = two_product(a.hi, b.hi);
  return quick_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

constexpr DoubleDouble operator*(DoubleDouble a, double b) {
  const DoubleDouble p = two_product(a.hi, b);
  return quick_two_sum(p.hi, p.lo + a.lo * b);
}

constexpr DoubleDouble operator-(DoubleDouble a) { return {-a.hi, -a.lo}; }

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
