#pragma once

#include <cstdint>

#include "touchstone/base/error.h"

namespace touchstone {

/// Returns a + b; throws OverflowError if the sum does not fit in 64 bits.
inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r))
    throw OverflowError(fmt::format("{} + {} does not fit in 64 bits", a, b));
  return r;
}

/// Returns a - b; throws OverflowError if the difference does not fit in 64 bits.
inline std::int64_t checked_sub(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_sub_overflow(a, b, &r))
    throw OverflowError(fmt::format("{} - {} does not fit in 64 bits", a, b));
  return r;
}

/// Returns a * b; throws OverflowError if the product does not fit in 64 bits.
inline std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r))
    throw OverflowError(fmt::format("{} * {} does not fit in 64 bits", a, b));
  return r;
}

/// Quotient rounded towards minus infinity, as Python's `//`. b != 0.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;  // NOLINT(clang-analyzer-core.DivideZero): callers check b
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

/// Remainder with the sign of b, as Python's `%`. b != 0.
constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  const std::int64_t r = a % b;
  return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}

/// Quotient rounded towards plus infinity. b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

}  // namespace touchstone
