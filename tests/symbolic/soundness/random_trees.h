#pragma once

#include <cstdint>
#include <vector>

#include "checker.h"

namespace touchstone::symbolic {

/// A random deep tree over three variables with small numbers and numbers near 2^63 and 10^30, and
/// its values at a few points. The seed and the number name it.
class RandomTree {
 public:
  RandomTree(std::uint64_t seed, std::uint64_t number, int depth);
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
