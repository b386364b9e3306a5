#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "touchstone/dtype/storage.h"

namespace touchstone::test {

/// The simplest rounding to a narrow float: the nearest entry of a sorted list of its non-negative
/// numbers, by long double subtraction, the even one on a tie.
template <class T>
class NearestInList {
 public:
  NearestInList() {
    for (std::uint32_t bits = 0; bits < kBeyond; ++bits) values_.push_back(value(bits));
    values_.push_back(2 * values_[kBeyond - 1] - values_[kBeyond - 2]);  // overflow threshold
  }

  /// The value of the bit pattern of a number, by the format's definition.
  static long double value(std::uint32_t bits) {
    const int exponent = static_cast<int>(bits >> kFraction);
    const std::uint32_t fraction = bits & ((1u << kFraction) - 1);
    const int bias = 1 - kInfo.min_exponent;
    if (exponent == 0) return std::ldexp(static_cast<long double>(fraction), 1 - bias - kFraction);
    return std::ldexp(static_cast<long double>((1u << kFraction) + fraction),
                      exponent - bias - kFraction);
  }

  /// Exact for every x that is the difference of two such long doubles: 64 bits suffice for all
  /// int64, uint64 and double near a tie.
  T operator()(long double x) const {
    const std::uint32_t sign = std::signbit(x) ? kSign : 0;
    if (std::isnan(x)) return pattern(kSign - 1);
    const long double m = std::abs(x);
    const auto above = std::ranges::lower_bound(values_, m);
    if (above == values_.end()) return pattern(sign | kOverflow);
    auto bits = static_cast<std::uint32_t>(above - values_.begin());
    if (bits != 0) {
      const long double up = values_[bits] - m;
      const long double down = m - values_[bits - 1];
      if (down < up || (down == up && bits % 2 == 1)) --bits;
    }
    return pattern(sign | std::min(bits, kOverflow));
  }

 private:
  static constexpr DTypeInfo kInfo = info(dtype_v<T>);
  static constexpr int kFraction = kInfo.digits - 1;
  static constexpr std::uint32_t kSign = 1u << (8 * sizeof(T) - 1);
  // The first non-number pattern: infinity, or else NaN.
  static constexpr std::uint32_t kBeyond =
      kInfo.infinities ? (kSign - 1) & ~((1u << kFraction) - 1) : kSign - 1;
  static constexpr std::uint32_t kOverflow = kInfo.infinities ? kBeyond : kBeyond - 1;
  static T pattern(std::uint32_t bits) { return std::bit_cast<T>(static_cast<BitsOf<T>>(bits)); }
  std::vector<long double> values_;
};

}  // namespace touchstone::test
