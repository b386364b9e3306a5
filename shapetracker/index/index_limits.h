#pragma once

#include <cstddef>
#include <cstdint>

namespace touchstone::shapetracker {

/// Where the search for cheaper index expressions ends. Past each an expression stays as it is.
struct IndexLimits {
  static constexpr std::int64_t kValues = 1024;  // of an index that a condition is tried with
  static constexpr std::int64_t kModulus = 64;   // of a residue that a condition may become
  static constexpr std::size_t kParts = 20'000;  // of an expression written as text
};

}  // namespace touchstone::shapetracker
