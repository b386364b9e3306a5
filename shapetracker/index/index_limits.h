#pragma once

#include <cstddef>
#include <cstdint>

namespace touchstone::shapetracker {

/// Limits of the search for cheaper index expressions. Past a limit an expression is unchanged.
struct IndexLimits {
  static constexpr std::int64_t kValues = 1024;  // of an index that a condition is tested with
  static constexpr std::int64_t kModulus = 64;   // of a residue that replaces a condition
  static constexpr std::size_t kParts = 20'000;  // of a rendered expression
};

}  // namespace touchstone::shapetracker
