#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "touchstone/dtype/float16.h"

// The two formats of the OCP 8-bit Floating Point Specification 1.0, as bits. Rounding to them is
// in convert.h and rounding.h.

namespace touchstone {

/// 4 exponent bits with bias 7, 3 stored bits: the largest number is +-448, the least 2^-9. No
/// infinities; for each sign the pattern of all ones is NaN.
struct float8_e4m3 {
  std::uint8_t bits = 0;
  bool operator==(const float8_e4m3&) const = default;  // compares bits, not values
};

/// 5 exponent bits with bias 15, 2 stored bits, infinities and NaNs as in IEEE 754: the upper half
/// of a float16. The largest number is +-57344, the least 2^-16.
struct float8_e5m2 {
  std::uint8_t bits = 0;
  bool operator==(const float8_e5m2&) const = default;
};

/// The result for a number beyond the largest of an 8-bit float.
enum class Float8Overflow : std::uint8_t {
  AsDefined,  // as in docs/semantics.md: the largest in float8_e4m3, infinity in float8_e5m2
  Saturates,  // the largest in both
  Infinity,   // NaN in float8_e4m3, infinity in float8_e5m2
  Either,
};

/// Exact; a NaN keeps its sign.
constexpr float to_float(float8_e4m3 x) {
  const std::uint32_t sign = (x.bits & 0x80u) << 24;
  const std::uint32_t magnitude = x.bits & 0x7fu;
  if (magnitude == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (magnitude >= 0x08u) return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));
  const float subnormal = static_cast<float>(magnitude) * 0x1p-9f;
  return sign != 0 ? -subnormal : subnormal;
}

/// Exact; a NaN keeps sign and payload.
constexpr float to_float(float8_e5m2 x) {
  return to_float(float16{static_cast<std::uint16_t>(x.bits << 8)});
}

}  // namespace touchstone
