#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "touchstone/dtype/storage.h"

namespace touchstone {

/// An unpacked real number: (-1)^negative * (mantissa + rest) * 2^exponent, where 0 < rest < 1 if
/// `sticky`, else rest = 0. `sticky` requires mantissa >= 2^55, beyond the precision of every
/// format.
struct UnpackedReal {
  bool negative = false;
  std::uint64_t mantissa = 0;
  std::int64_t exponent = 0;
  bool sticky = false;
};

/// Unpacks finite x; infinity is treated as 2^1024.
constexpr UnpackedReal unpacked(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const auto exponent = static_cast<std::int64_t>(bits >> 52 & 0x7ff);
  const std::uint64_t hidden = exponent != 0 ? std::uint64_t{1} << 52 : 0;
  return {(bits >> 63) != 0, fraction | hidden, (exponent != 0 ? exponent : 1) - 1075, false};
}

enum class Rounding : std::uint8_t { NearestEven, Down, Up };

/// The result of rounding beyond the largest number: that number, or infinity (NaN in a type
/// without infinities).
enum class Overflow : std::uint8_t { Saturate, Infinity };

/// The overflow mode of arithmetic and CAST.
template <class T>
inline constexpr Overflow kOverflow = has_infinities<T> ? Overflow::Infinity : Overflow::Saturate;

/// The bits of the largest finite T.
template <class T>
inline constexpr std::uint64_t kLargestBits =
    has_infinities<T> ? (static_cast<std::uint64_t>(2 * info(dtype_v<T>).max_exponent + 1)
                         << (info(dtype_v<T>).digits - 1)) -
                            1
                      : (std::uint64_t{1} << (sizeof(T) * 8 - 1)) - 2;

/// Rounds once to the float type T, by default to nearest, ties to even, with gradual underflow.
/// Overflow follows `overflow`, except that Down of a positive and Up of a negative number always
/// give the largest finite number. Uses integer arithmetic only, so rounding mode and flush-to-zero
/// have no effect.
template <class T>
constexpr T round_once(UnpackedReal x, Rounding rounding = Rounding::NearestEven,
                       Overflow overflow = kOverflow<T>) {
  constexpr DTypeInfo kInfo = info(dtype_v<T>);
  constexpr int kStored = kInfo.digits - 1;
  const std::uint64_t sign = x.negative ? std::uint64_t{1} << (sizeof(T) * 8 - 1) : 0;
  const auto pack = [sign](std::uint64_t bits) {
    return std::bit_cast<T>(static_cast<BitsOf<T>>(sign | bits));
  };
  // The pattern after the largest number is infinity, or NaN.
  const std::uint64_t beyond = kLargestBits<T> + (overflow == Overflow::Infinity ? 1 : 0);
  if (x.mantissa == 0) return pack(0);

  const bool nearest = rounding == Rounding::NearestEven;
  const bool away = rounding == (x.negative ? Rounding::Down : Rounding::Up);
  const int lead = std::countl_zero(x.mantissa);
  const std::uint64_t m = x.mantissa << lead;     // 1.xxx in the top bit
  const std::int64_t e = x.exponent - lead + 63;  // value in [2^e, 2^(e+1))
  if (e > kInfo.max_exponent) return pack(nearest || away ? beyond : kLargestBits<T>);
  if (e < kInfo.min_exponent - kInfo.digits) return pack(away ? 1 : 0);  // far below the least
  const bool normal = e >= kInfo.min_exponent;
  const int drop = 64 - kInfo.digits + (normal ? 0 : static_cast<int>(kInfo.min_exponent - e));
  const std::uint64_t kept = drop == 64 ? 0 : m >> drop;
  const std::uint64_t rest = drop == 64 ? m : m & ((std::uint64_t{1} << drop) - 1);
  const std::uint64_t half = std::uint64_t{1} << (drop - 1);
  const bool up = nearest ? rest > half || (rest == half && (x.sticky || (kept & 1) != 0))
                          : away && (rest != 0 || x.sticky);
  // `kept` includes the hidden bit of a normal number, so the biased exponent is added minus one.
  const std::uint64_t biased =
      normal ? static_cast<std::uint64_t>(e - kInfo.min_exponent) << kStored : 0;
  const std::uint64_t bits = biased + kept + (up ? 1 : 0);
  return pack(bits > kLargestBits<T> ? nearest || away ? beyond : kLargestBits<T> : bits);
}

}  // namespace touchstone
