#pragma once

#include <bit>
#include <cstdint>

namespace touchstone {

/// IEEE 754 binary16 as bits. Arithmetic goes through float or double; this type only stores.
struct float16 {
  std::uint16_t bits = 0;
  bool operator==(const float16&) const = default;  // equality of bits, not of values
};

/// bfloat16 (8 exponent bits, 8 significand bits) as bits.
struct bfloat16 {
  std::uint16_t bits = 0;
  bool operator==(const bfloat16&) const = default;
};

/// Exact.
float to_float(float16 x);
float to_float(bfloat16 x);

/// Nearest, ties to even, rounded once from the source format; overflow gives infinity, NaN a quiet
/// NaN that keeps the sign.
float16 to_float16(float x);
float16 to_float16(double x);
bfloat16 to_bfloat16(float x);
bfloat16 to_bfloat16(double x);

}  // namespace touchstone
