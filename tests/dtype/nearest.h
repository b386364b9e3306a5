#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "touchstone/dtype/storage.h"

namespace touchstone::test {

/// The plainest rounding to a 16-bit float: a sorted list of all its non-negative numbers, the
/// nearest of them by subtraction in long double, the even one on a tie.
template <class T>
class NearestInList {
 public:
  NearestInList() {
    for (std::uint32_t bits = 0; bits < kInfinity; ++bits) values_.push_back(value(bits));
    values_.push_back(2 * values_[kInfinity - 1] - values_[kInfinity - 2]);  // what infinity begins
  }

  /// The value of the pattern `bits`, below infinity's, from the definition of the format.
  static long double value(std::uint32_t bits) {
    const int exponent = static_cast<int>(bits >> kFraction);
    const std::uint32_t fraction = bits & ((1u << kFraction) - 1);
    const int bias = kInfo.max_exponent;
    if (exponent == 0) return std::ldexp(static_cast<long double>(fraction), 1 - bias - kFraction);
    return std::ldexp(static_cast<long double>((1u << kFraction) + fraction),
                      exponent - bias - kFraction);
  }

  /// Exact for every x that is the difference of two of our long doubles: 64 bits suffice for all
  /// int64, uint64 and double near a tie.
  T operator()(long double x) const {
    const std::uint32_t sign = std::signbit(x) ? 0x8000u : 0;
    if (std::isnan(x)) return T{static_cast<std::uint16_t>(sign | kInfinity | 1)};
    const long double m = std::abs(x);
    const auto above = std::ranges::lower_bound(values_, m);
    if (above == values_.end()) return T{static_cast<std::uint16_t>(sign | kInfinity)};
    auto bits = static_cast<std::uint32_t>(above - values_.begin());
    if (bits != 0) {
      const long double up = values_[bits] - m;
      const long double down = m - values_[bits - 1];
      if (down < up || (down == up && bits % 2 == 1)) --bits;
    }
    return T{static_cast<std::uint16_t>(sign | bits)};
  }

 private:
  static constexpr DTypeInfo kInfo = info(dtype_v<T>);
  static constexpr int kFraction = kInfo.digits - 1;
  static constexpr std::uint32_t kInfinity = 0x7fffu & ~((1u << kFraction) - 1);
  std::vector<long double> values_;
};

}  // namespace touchstone::test
