#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/interp/device/program.h"

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

namespace interp {

/// A run of consecutive elements of the output.
struct ElementRun {
  std::int64_t first, last;
};

struct Sample {
  std::vector<ElementRun> runs;  // in order, without overlaps
  Sampled sampled;
};
/// The size of the last axis of more than one element.
std::int64_t columns_of(const Program& program);
/// The values computed for a run of `length` elements at the beginning of a row. Results of a
/// reduce that repeat within the run count once.
double work_of(const Program& program, std::int64_t length);
/// Elements spread over the output, with its edges; nullopt if all can be judged, or a sample would
/// not be much cheaper. Whole rows where the elements of a row share most of their work.
std::optional<Sample> sample_of(const Program& program, const Sampling& sampling);

}  // namespace interp
}  // namespace touchstone
