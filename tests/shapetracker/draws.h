#pragma once

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <vector>

namespace touchstone::model {

/// A list of numbers from which tests build what they need: one generated type, whose shrinking
/// towards zeros makes everything built from it plainer.
class Draws {
 public:
  explicit Draws(std::vector<int> numbers) : numbers_(std::move(numbers)) {}

  /// A number in [0, n).
  std::int64_t below(std::int64_t n) { return next_ < numbers_.size() ? numbers_[next_++] % n : 0; }
  /// A number in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool one_in(std::int64_t n) { return below(n) == n - 1; }

 private:
  std::vector<int> numbers_;
  std::size_t next_ = 0;
};

inline rc::Gen<std::vector<int>> any_draws(int count = 120) {
  return rc::gen::container<std::vector<int>>(static_cast<std::size_t>(count),
                                              rc::gen::inRange(0, 27720 * 7));
}

}  // namespace touchstone::model
