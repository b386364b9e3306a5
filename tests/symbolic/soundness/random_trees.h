#pragma once

#include <cstdint>
#include <vector>

#include "checker.h"

namespace touchstone::symbolic {

/// A tree drawn by the fuzzer, with its values at a few points; identified by seed and number.
class RandomTree {
 public:
  RandomTree(std::uint64_t seed, std::uint64_t number);
  const Variables& variables() const { return variables_; }
  Sample sample() const { return {text_, swapped_, size_, points_, values_, false, wide_}; }

 private:
  Variables variables_;
  std::string text_, swapped_;
  std::size_t size_ = 0;
  bool wide_ = false;
  std::vector<std::vector<Int>> points_;
  std::vector<std::optional<Int>> values_;
};

}  // namespace touchstone::symbolic
