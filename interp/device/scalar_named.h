#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "touchstone/interp/device/scalar_arith.h"

// Operations of other backends that are not ops of the table, so that their correct results can be
// requested by name.

namespace touchstone::scalar {

namespace detail {

// a + b in double, truncated, with the last bit set if inexact ("round to odd"): a later rounding
// to at most 51 digits is then the only one (Boldo and Melquiond 2008). For finite numbers far from
// overflow and underflow.
inline double add_to_odd(double a, double b) {
  const double sum = a + b;
  const double back = sum - a;
  const double rest = (a - (sum - back)) + (b - back);  // exact (Knuth's TwoSum)
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (rest == 0 || (bits & 1) != 0) return sum;
  return std::bit_cast<double>((rest > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

template <class T>
constexpr bool opposite_signs(T a, T b) {
  return (a < T{0}) != (b < T{0});
}

}  // namespace detail

/// a * b + c, rounded once.
template <class T>
requires is_float_storage<T>
inline T fma(T a, T b, T c) {
  if constexpr (is_narrow_float<T>) {
    // The product is exact in double: at most 22 digits, between 2^-266 and 2^256.
    const double product = convert<double>(a) * convert<double>(b);
    const double addend = convert<double>(c);
    if (!std::isfinite(product) || !std::isfinite(addend)) return convert<T>(product + addend);
    return convert<T>(detail::add_to_odd(product, addend));
  } else {
    return std::fma(a, b, c);
  }
}

/// The larger; the number if the other is NaN (maxNum of IEEE 754-2008); +0 is larger than -0.
template <class T>
constexpr T max_num(T a, T b) {
  if constexpr (is_float_storage<T>) {
    if (detail::computing(a) != detail::computing(a)) return b;
    if (detail::computing(b) != detail::computing(b)) return a;
  }
  return scalar::max(a, b);
}

/// a - b * floor(a / b), rounded once, with the sign of b. Like Python's `%`, also for zeros and
/// infinities: an exact zero has the sign of b. Integers: 0 where div is poison.
template <class T>
inline T mod_floor(T a, T b) {
  if constexpr (is_float_storage<T>) {
    const auto y = detail::computing(b);
    const auto rest = std::fmod(detail::computing(a), y);  // exact
    if (rest == 0) return convert<T>(std::copysign(rest, y));
    return convert<T>(detail::opposite_signs(rest, y) ? rest + y : rest);
  } else {
    const T rest = mod(a, b);
    if constexpr (std::is_signed_v<T>)
      if (rest != 0 && detail::opposite_signs(rest, b)) return static_cast<T>(rest + b);
    return rest;
  }
}

/// floor(a / b) of integers; the result of div where that is poison.
template <class T>
requires is_integer_storage<T>
constexpr T div_floor(T a, T b) {
  const T quotient = div(a, b);
  if constexpr (std::is_signed_v<T>)
    if (!div_is_poison(a, b) && a % b != 0 && detail::opposite_signs(a, b))
      return static_cast<T>(quotient - 1);
  return quotient;
}

}  // namespace touchstone::scalar
