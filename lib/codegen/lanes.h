#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "touchstone/ops/lazy_op.h"

namespace touchstone::codegen {

/// Neighbouring outputs whose reduces run side by side, an accumulator each: every output still
/// meets its terms in the same order, but the additions of different outputs need not wait for one
/// another, and one loop over lanes is what a vector unit wants.
struct LanePlan {
  std::size_t axis = 0;    // of the output: the last with a size other than 1
  std::int64_t size = 0;   // of that axis
  std::int64_t lanes = 0;  // in [2, size]
  std::int64_t tiles() const { return (size + lanes - 1) / lanes; }
  /// The last tile overlaps the one before it, whose outputs it computes a second time.
  bool overlaps() const { return size % lanes != 0; }
};

/// The lanes of a kernel; nullopt where they would not pay: no reduce, or a short one, or too few
/// outputs along the last axis, or symbolic sizes there.
std::optional<LanePlan> plan_lanes(const LazyOpPtr& kernel);

/// Reduces that are not below another reduce and differ along the axis, operands before users.
std::vector<LazyOpPtr> reduces_in_lanes(const LazyOpPtr& kernel, std::size_t axis);

}  // namespace touchstone::codegen
