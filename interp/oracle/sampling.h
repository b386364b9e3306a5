#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace touchstone {

/// How many of a kernel's elements to judge.
struct Sampling {
  /// Values that a verdict on all elements may compute; above it some are judged.
  double most = 2e9;
  /// Values to compute then.
  double wanted = 4e8;
  std::uint64_t seed = 1;

  static Sampling all() { return {.most = std::numeric_limits<double>::infinity()}; }
  bool operator==(const Sampling&) const = default;
};

/// The elements that were judged, and the chances that a fault of one element, of one row of the
/// last axis, or of a tile lies in none of them.
struct Sampled {
  std::int64_t judged = 0, of = 0;       // elements
  std::int64_t height = 16, width = 16;  // of a tile, in rows and elements of the last axis
  double element = 0, row = 0, tile = 0;

  /// "65536 of 16777216 elements were judged; a fault of one element is missed with a chance of
  /// ...".
  std::string str() const;
};

}  // namespace touchstone
