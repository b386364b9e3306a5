#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "touchstone/codegen/linearize.h"
#include "touchstone/ops/lazy_op.h"
#include "touchstone/ops/still_axes.h"

namespace touchstone::codegen {

/// Adjacent outputs whose reduces run side by side with one accumulator each. Every output still
/// adds its terms in the same order, but additions of different outputs are independent, and the
/// loop over lanes vectorizes.
struct LanePlan {
  std::size_t axis = 0;        // of the output: the last with a size other than 1
  std::int64_t size = 0;       // of that axis
  std::int64_t lanes = 0;      // in [2, size]
  std::size_t outer = 0;       // axes before it are looped outside the tiles
  bool packed = false;         // the other axes are looped inside, and share what a tile packs or
                               // all its reduces
  std::size_t block_axis = 0;  // output axis, before the lane axis
  std::int64_t block = 1;      // block_axis elements reduced together; divides its size
  std::int64_t written = 0;    // terms with unrolled loops; 0: none
  std::int64_t tiles() const { return (size + lanes - 1) / lanes; }
  /// True if the last tile overlaps the previous one and recomputes some of its outputs.
  bool overlaps() const { return size % lanes != 0; }
};

inline constexpr std::int64_t kMostWritten = 64;  // unroll(...)

/// Plans the lanes of a kernel; nullopt if they would not pay: no reduce or a short one, too few
/// outputs along the last axis, or symbolic sizes there. A load that is better packed is packed if
/// enough rows share it, or if it is turned: each tile copies what it needs into an array of at
/// most `packed_bytes` before the loops over those rows. Rows that share a load of the lanes are
/// reduced in blocks; so are rows with overlapping windows if a window's terms can be unrolled:
/// they then load shared elements once and omit masks that cut off nothing.
std::optional<LanePlan> plan_lanes(const LazyOpPtr& kernel, const LayoutSizes& sizes);

/// Returns an axis order that puts the output axes which a load that is better packed does not
/// depend on directly before the lane axis, if enough rows share it there; empty if already so or
/// not possible. Reduce axes keep their order.
std::vector<int> order_that_shares(const LazyOpPtr& kernel, const LayoutSizes& sizes);

/// Returns an axis order that puts another output axis last, if that gives whole vectors of lanes
/// while the current last axis is too short for any, or gives half a vector with masks; empty if
/// there is none. Prefers an axis along which no masked load moves, then the most lanes and rows.
/// Reduce axes keep their order.
std::vector<int> order_of_whole_lanes(const LazyOpPtr& kernel, const LayoutSizes& sizes);

/// True if packing makes a load faster: adjacent elements along `axis` are not adjacent in memory
/// or are masked, or those along one of the axes `reduced` are at least `far_bytes` apart.
bool is_better_packed(const LazyOp& load, std::size_t axis, std::span<const int> reduced,
                      const LayoutSizes& sizes);

/// True if the load reads vectors along an axis: adjacent or every second element.
bool reads_vectors(const LazyOp& load, std::size_t axis);

/// True if elements along `axis` are far apart, and those along the innermost of the axes `reduced`
/// are adjacent and unmasked: copying then reads whole cache lines and transposes in registers,
/// which pays even for a single row.
bool is_turned(const LazyOp& load, std::size_t axis, std::span<const int> reduced);

/// Returns an order that puts last an axis along which all loads are vectors, preceded by the axes
/// along which all reduces are constant (columns of a softmax over rows). Empty if there is none,
/// or if reduces vary along the last axis.
std::vector<int> order_of_columns(const LazyOpPtr& kernel, const LayoutSizes& sizes);

/// The last axis with a size other than 1; nullopt if there is none.
std::optional<std::size_t> last_axis(const Shape& shape);

/// True if the kernel has a reduce.
bool reduces(const LazyOpPtr& kernel);

/// The axes with more than one term that a reduce covers, as bits; all bits if one is not among the
/// first 64.
StillAxes reduced_axes(const LazyOp& reduce);

/// Outermost reduces that vary along the axis, operands before users.
std::vector<LazyOpPtr> reduces_in_lanes(const LazyOpPtr& kernel, std::size_t axis);

/// reduces_in_lanes, and reduces below them that are constant over their terms (the mean inside a
/// variance). They can all run in sequence, operands before users.
std::vector<LazyOpPtr> reduces_by_lanes(const LazyOpPtr& kernel, std::size_t axis);

/// True if a node that is still along these axes has one value for all elements along `axis`, which
/// certainly has elements.
bool same_along(StillAxes still, const Shape& shape, std::size_t axis);
/// LanePlan::outer: the number of axes before `axis`, without those directly before it along which
/// all reduces of the lanes are constant.
std::size_t outer_axes(const LazyOpPtr& kernel, std::size_t axis);

/// True if lanes along the axis would recompute a reduce for terms of another one for which it is
/// constant, because it stands inside the loop over lanes.
bool lanes_repeat_reduces(const LazyOpPtr& kernel, std::size_t axis);

}  // namespace touchstone::codegen
