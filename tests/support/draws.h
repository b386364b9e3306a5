// What tests draw: choices of the fuzzer's kind, bits and real numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

#include "touchstone/fuzz/choice/chooser.h"

namespace touchstone::test {

/// Case `index` of `seed`: the same on every machine, which the standard distributions are not.
class Draws : public fuzz::RandomChooser {
 public:
  explicit Draws(std::uint64_t seed, std::uint64_t index = 0) : RandomChooser(seed, index) {}

  /// All 64 random.
  std::uint64_t bits() { return below(kHalf) << 32 | below(kHalf); }
  /// A number in [low, high], of 53 random bits before it is rounded.
  template <class T>
  T uniform(T low, T high) {
    const double part = static_cast<double>(bits() >> 11) * 0x1p-53;
    return static_cast<T>(low + (static_cast<double>(high) - low) * part);
  }
  /// A number of the standard normal distribution (Box and Muller).
  template <class T>
  T normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform(0.0, 1.0)));
    return static_cast<T>(radius * std::cos(uniform(0.0, 2 * std::numbers::pi)));
  }
  /// Puts a vector's elements in a random order.
  template <class List>
  void shuffle(List& list) {
    for (std::size_t n = list.size(); n > 1; --n) std::swap(list[n - 1], list[below(n)]);
  }

 private:
  static constexpr std::uint64_t kHalf = std::uint64_t{1} << 32;
};

}  // namespace touchstone::test
