#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
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

/// The elements that were judged, and the chance that a fault lies in none of them.
struct Sampled {
  std::int64_t judged = 0, of = 0;           // elements
  double element = 0, row = 0, tile = 0;     // chances, of one of them; rows are of the last axis
  static constexpr std::int64_t kTile = 16;  // rows and columns of a tile

  /// "65,536 of 16,777,216 elements; a fault of one element is missed with a chance of ...".
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
std::int64_t columns_of(std::span<const std::int64_t> shape);
/// The values computed for a run of `length` elements. Of the results of a reduce that repeat, a
/// run needs at most as many as differ within a row of `columns` elements, or within the run.
double work_of(const Program& program, std::int64_t length, std::int64_t columns);
/// Elements spread over the output, with its edges; nullopt if all can be judged. `shape`: the
/// output's. Whole rows where the elements of a row share most of their work.
std::optional<Sample> sample_of(const Program& program, std::span<const std::int64_t> shape,
                                const Sampling& sampling);

}  // namespace interp
}  // namespace touchstone
