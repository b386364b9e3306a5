#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "touchstone/dtype/rounding.h"
#include "touchstone/dtype/storage.h"

namespace touchstone {

namespace detail {

// Truncates towards zero and saturates; NaN gives 0.
template <class To, class From>
constexpr To float_to_integer(From x) {
  constexpr int kDigits = std::numeric_limits<To>::digits;
  constexpr From kBeyond =
      From{2} * static_cast<From>(std::uint64_t{1} << (kDigits - 1));  // max + 1
  constexpr From kLeast = static_cast<From>(std::numeric_limits<To>::min());
  if (x >= kBeyond) return std::numeric_limits<To>::max();
  if (x <= kLeast) return std::numeric_limits<To>::min();
  return x == x ? static_cast<To>(x) : To{0};
}

// Via double, with the lost bits folded into the last one kept ("round to odd"), so that only the
// second rounding counts: 53 >= 8 + 2 digits.
constexpr bfloat16 uint64_to_bfloat16(std::uint64_t magnitude, bool negative) {
  if ((magnitude >> 53) != 0)
    magnitude = ((magnitude >> 11) | ((magnitude & 0x7ff) != 0 ? 1u : 0u)) << 11;
  const auto exact = static_cast<double>(magnitude);
  return to_bfloat16(negative ? -exact : exact);
}

template <class To, class From>
constexpr To to_float8(From x, Overflow overflow) {
  if constexpr (std::is_floating_point_v<From>) {
    const auto wide = static_cast<double>(x);
    const auto bits = std::bit_cast<std::uint64_t>(wide);
    if ((bits & 0x7fffffffffffffff) > 0x7ff0000000000000)
      return To{static_cast<std::uint8_t>((bits >> 63) << 7 | 0x7f)};
    // Infinity is treated as 2^1024.
    return round_once<To>(unpacked(wide), Rounding::NearestEven, overflow);
  } else if constexpr (std::is_signed_v<From>) {
    const auto magnitude = static_cast<std::uint64_t>(std::int64_t{x});
    return round_once<To>({x < 0, x < 0 ? 0 - magnitude : magnitude, 0, false},
                          Rounding::NearestEven, overflow);
  } else {
    return round_once<To>({false, x, 0, false}, Rounding::NearestEven, overflow);
  }
}

template <class To, class From>
constexpr To to_narrow_float(From x) {
  if constexpr (sizeof(To) == 1) {
    return to_float8<To>(x, kOverflow<To>);
  } else if constexpr (std::is_same_v<To, float16>) {
    // Values from 2^17 up are infinity; below that double is exact.
    if constexpr (std::is_floating_point_v<From>)
      return to_float16(x);
    else
      return to_float16(static_cast<double>(x));
  } else {
    if constexpr (std::is_floating_point_v<From>)
      return to_bfloat16(x);
    else if constexpr (sizeof(From) < 8)
      return to_bfloat16(static_cast<double>(x));
    else if constexpr (std::is_signed_v<From>)
      return uint64_to_bfloat16(
          x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x), x < 0);
    else
      return uint64_to_bfloat16(x, false);
  }
}

}  // namespace detail

/// Converts one element by the rules of docs/semantics.md: float to integer truncates and
/// saturates, NaN gives 0; integers wrap; to bool is x != 0 (NaN is true); everything to a float
/// rounds once to nearest, ties to even; values too large, including infinity, become +-448 in
/// float8_e4m3 and infinity in other types.
template <class To, class From>
constexpr To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (is_narrow_float<From>) {
    return convert<To>(to_float(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (is_narrow_float<To>) {
    return detail::to_narrow_float<To>(x);
  } else if constexpr (is_float_storage<From> && is_integer_storage<To>) {
    return detail::float_to_integer<To>(x);
  } else {
    return static_cast<To>(x);  // integers wrap; the hardware rounds to float and double once
  }
}

/// Converts a float to an 8-bit one with this overflow mode: Saturate gives the largest number,
/// also for infinity; Infinity gives infinity, or NaN in float8_e4m3. NaN stays NaN.
template <class To, class From>
requires(is_float_storage<From>&& is_float_storage<To> && sizeof(To) == 1) constexpr To
    convert_to_float8(From x, Overflow overflow) {
  if constexpr (is_narrow_float<From>)
    return detail::to_float8<To>(to_float(x), overflow);
  else
    return detail::to_float8<To>(x, overflow);
}

}  // namespace touchstone
