#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "touchstone/dtype/dtype.h"

// The radius form of a legal result: |legal - value| <= radius for every legal computation. The
// rules hold for real numbers; every rule adds the error of its own double arithmetic
// (docs/oracle.md; tests/interp/gappa proves the bounds).

namespace touchstone::interp {

/// A number known to within `radius`. An infinite radius makes no claim; then the value is 0.
struct Ball {
  double value = 0;
  double radius = 0;

  static constexpr Ball unknown() { return {0, std::numeric_limits<double>::infinity()}; }
  bool known() const { return radius < std::numeric_limits<double>::infinity(); }
  /// The largest magnitude in the ball.
  double most() const { return (std::abs(value) + radius) * (1 + 0x1p-52); }
};

namespace ball {

/// The rounding error of a float type: u |x| + eta.
struct Unit {
  double relative;  // u, half a unit in the last place of 1
  double absolute;  // eta, half the least subnormal
  double least_normal;
  double largest;

  explicit Unit(DType d) {
    const DTypeInfo& f = info(d);
    relative = std::ldexp(1, -f.digits);
    absolute = std::ldexp(1, f.min_exponent - f.digits);
    least_normal = std::ldexp(1, f.min_exponent);
    largest = std::ldexp(2 - std::ldexp(1, 1 - f.digits), f.max_exponent);
  }
};

/// The unit of each type, computed once.
inline const Unit& unit_of(DType d) {
  // Never destroyed: threads may run until the process ends.
  static const std::vector<Unit>* const units = [] {
    auto* const all = new std::vector<Unit>;
    for (const DTypeInfo& row : dtype_table) all->emplace_back(row.dtype);
    return all;
  }();
  return (*units)[static_cast<std::size_t>(d)];
}

/// A double below (above) every number that rounds to x.
inline double below(double x) { return x - (std::abs(x) * 0x1p-52 + 0x1p-1074); }
inline double above(double x) { return x + (std::abs(x) * 0x1p-52 + 0x1p-1074); }

/// value +- radius, with the radius increased for its own rounding and for that of a value computed
/// in a few double operations.
inline Ball made(double value, double radius) {
  const double r = radius * (1 + 0x1p-48) + std::abs(value) * 0x1p-52 + 0x1p-1070;
  return std::isfinite(value) && std::isfinite(r) ? Ball{value, r} : Ball::unknown();
}

/// x rounded to the type of `u`. Unknown if it may overflow.
inline Ball rounded(const Ball& x, const Unit& u) {
  if (!(x.most() < u.largest)) return Ball::unknown();
  return made(x.value, x.radius + u.relative * x.most() + u.absolute);
}
/// A result within `ulp` units in the last place of x, in the type of `u`.
inline Ball within_ulp(const Ball& x, double ulp, const Unit& u) {
  const double most = x.most() * (1 + 4 * ulp * u.relative);
  return made(x.value, x.radius + ulp * 2 * (u.relative * most + u.absolute));
}
/// x, or 0 if it is subnormal.
inline Ball flushed(const Ball& x, const Unit& u) {
  if (std::abs(x.value) - x.radius >= u.least_normal) return x;
  return made(x.value, x.radius + u.least_normal);
}
/// x with its operand truncated to `digits` significant bits.
inline Ball shortened(const Ball& x, int digits) {
  return made(x.value, x.radius + x.most() * std::ldexp(1, 1 - digits));
}

inline Ball neg(const Ball& a) { return {-a.value, a.radius}; }
inline Ball add(const Ball& a, const Ball& b) {
  return made(a.value + b.value, a.radius + b.radius);
}
inline Ball sub(const Ball& a, const Ball& b) { return add(a, neg(b)); }
inline Ball mul(const Ball& a, const Ball& b) {
  return made(a.value * b.value,
              std::abs(a.value) * b.radius + std::abs(b.value) * a.radius + a.radius * b.radius);
}
inline Ball div(const Ball& a, const Ball& b) {
  const double least = (std::abs(b.value) - b.radius) * (1 - 0x1p-52);
  if (!(least > 0)) return Ball::unknown();
  const double quotient = a.value / b.value;
  return made(quotient, (a.radius + std::abs(quotient) * (1 + 0x1p-52) * b.radius) / least);
}
inline Ball sqrt(const Ball& a) {
  const double least = a.value - a.radius;
  if (a.value < 0 || least < 0) return Ball::unknown();
  if (a.radius == 0) return made(std::sqrt(a.value), 0);
  return made(std::sqrt(a.value),
              a.radius / (std::sqrt(a.value) + std::sqrt(least)) * (1 + 0x1p-50));
}
inline Ball exp2(const Ball& a) {
  const double power = std::exp2(a.value);
  return made(power,
              power * (std::exp2(a.radius * (1 + 0x1p-52)) - 1) * (1 + 0x1p-45) + power * 0x1p-48);
}
inline Ball log2(const Ball& a) {
  const double least = (a.value - a.radius) * (1 - 0x1p-52);
  if (!(least > 0)) return Ball::unknown();
  const double log = std::log2(a.value);
  return made(log, a.radius / (least * 0.69314718055994529) + std::abs(log) * 0x1p-50);
}
inline Ball sin(const Ball& a) {
  return made(std::sin(a.value), std::min(a.radius, 2.0) + 0x1p-50);
}
inline Ball max(const Ball& a, const Ball& b) {
  return made(std::max(a.value, b.value), std::max(a.radius, b.radius));
}
/// Contains both.
inline Ball either(const Ball& a, const Ball& b) {
  const double low = std::min(a.value - a.radius, b.value - b.radius);
  const double high = std::max(a.value + a.radius, b.value + b.radius);
  return made(low / 2 + high / 2, high / 2 - low / 2);
}

}  // namespace ball
}  // namespace touchstone::interp
