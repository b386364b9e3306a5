#pragma once

#include <bit>
#include <cstdint>

namespace touchstone {

/// IEEE 754 binary16 as bits. Storage only; arithmetic uses float or double.
struct float16 {
  std::uint16_t bits = 0;
  bool operator==(const float16&) const = default;  // compares bits, not values
};

/// bfloat16 (8 exponent bits, 8 significand bits) as bits.
struct bfloat16 {
  std::uint16_t bits = 0;
  bool operator==(const bfloat16&) const = default;
};

/// Exact; a NaN keeps sign and payload.
constexpr float to_float(float16 x) {
  const std::uint32_t sign = (x.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = x.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude << 13));
  if (magnitude >= 0x0400u) return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
  return sign != 0 ? -subnormal : subnormal;
}

/// Exact; a NaN keeps sign and payload.
constexpr float to_float(bfloat16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

namespace detail {

// Rounds the bits of a wider IEEE format (SrcMantissa stored bits, exponent bias SrcBias) to a
// 16-bit one. Subnormal sources must be below half the target's least subnormal, which holds for
// every pair except float -> bfloat16.
template <int SrcMantissa, int SrcBias, int DstMantissa, int DstBias>
constexpr std::uint16_t narrow_bits(std::uint64_t magnitude, std::uint16_t sign) {
  constexpr int kDrop = SrcMantissa - DstMantissa;
  constexpr std::uint64_t kSrcInf = static_cast<std::uint64_t>(2 * SrcBias + 1) << SrcMantissa;
  constexpr std::uint64_t kDstInf = static_cast<std::uint64_t>(2 * DstBias + 1) << DstMantissa;
  constexpr std::uint64_t kRebias = static_cast<std::uint64_t>(SrcBias - DstBias) << SrcMantissa;
  constexpr std::uint64_t kHidden = 1ULL << SrcMantissa;
  if (magnitude > kSrcInf)
    return static_cast<std::uint16_t>(sign | kDstInf | (1ULL << (DstMantissa - 1)));
  if (magnitude >= kRebias + (kDstInf << kDrop)) return static_cast<std::uint16_t>(sign | kDstInf);
  int drop = kDrop;
  std::uint64_t value = 0;
  if (magnitude >= kRebias + kHidden) {  // normal: a carry out of the fraction bumps the exponent
    value = magnitude - kRebias;
  } else {
    const int exponent = static_cast<int>(magnitude >> SrcMantissa);
    drop += SrcBias - DstBias + 1 - exponent;
    if (drop > SrcMantissa + 2) return sign;
    value = (magnitude & (kHidden - 1)) | kHidden;
  }
  // Half, minus one unless the kept bit is odd: carries exactly when rounding up. Branch-free, as a
  // branch on random data would be mispredicted half of the time.
  const std::uint64_t odd = (value >> drop) & 1;
  const std::uint64_t up = (1ULL << (drop - 1)) - 1 + odd;
  return static_cast<std::uint16_t>(sign | ((value + up) >> drop));
}

}  // namespace detail

// Nearest, ties to even, rounded once from the source format; overflow gives infinity; NaN gives a
// quiet NaN with the same sign.
constexpr float16 to_float16(float x) {
  const std::uint32_t b = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>((b >> 16) & 0x8000u);
  return {detail::narrow_bits<23, 127, 10, 15>(b & 0x7fffffffu, sign)};
}
constexpr float16 to_float16(double x) {
  const std::uint64_t b = std::bit_cast<std::uint64_t>(x);
  const auto sign = static_cast<std::uint16_t>((b >> 48) & 0x8000u);
  return {detail::narrow_bits<52, 1023, 10, 15>(b & 0x7fffffffffffffffULL, sign)};
}
constexpr bfloat16 to_bfloat16(float x) {
  const std::uint32_t b = std::bit_cast<std::uint32_t>(x);
  if ((b & 0x7fffffffu) > 0x7f800000u)
    return {static_cast<std::uint16_t>(((b >> 16) & 0x8000u) | 0x7fc0u)};
  return {static_cast<std::uint16_t>((b + 0x7fffu + ((b >> 16) & 1u)) >> 16)};
}
constexpr bfloat16 to_bfloat16(double x) {
  const std::uint64_t b = std::bit_cast<std::uint64_t>(x);
  const auto sign = static_cast<std::uint16_t>((b >> 48) & 0x8000u);
  return {detail::narrow_bits<52, 1023, 7, 127>(b & 0x7fffffffffffffffULL, sign)};
}

}  // namespace touchstone
