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

/// Neighbouring outputs whose reduces run side by side, an accumulator each: every output still
/// meets its terms in the same order, but the additions of different outputs need not wait for one
/// another, and one loop over lanes is what a vector unit wants.
struct LanePlan {
  std::size_t axis = 0;        // of the output: the last with a size other than 1
  std::int64_t size = 0;       // of that axis
  std::int64_t lanes = 0;      // in [2, size]
  std::size_t outer = 0;       // axes before it have their loops outside those over tiles
  bool packed = false;         // the others have theirs inside, and share what a tile packs, or
                               // all its reduces
  std::size_t block_axis = 0;  // of the output, before that of the lanes
  std::int64_t block = 1;      // elements of it that reduce together; divides its size
  std::int64_t written = 0;    // terms whose loops are written out; 0: none are
  std::int64_t tiles() const { return (size + lanes - 1) / lanes; }
  /// The last tile overlaps the one before it, whose outputs it computes a second time.
  bool overlaps() const { return size % lanes != 0; }
};

inline constexpr std::int64_t kMostWritten = 64;  // unroll(...)

/// The lanes of a kernel; nullopt where they would not pay: no reduce, or a short one, or too few
/// outputs along the last axis, or symbolic sizes there. A load that is better packed is where
/// enough rows share it, or it is turned: a tile copies what it needs into an array of
/// `packed_bytes` at most before the loops over those rows. Rows that share a load of the lanes
/// reduce in blocks, and so do rows whose windows overlap, where the terms of a window can be
/// written out: they then load once what several of them read, and know which masks cut nothing
/// off.
std::optional<LanePlan> plan_lanes(const LazyOpPtr& kernel, const LayoutSizes& sizes);

/// The order of axes which puts those of the output that a load which is better packed does not
/// depend on right before the axis of the lanes, where enough rows share it there; empty where they
/// are there, or do not. Reduces keep their order.
std::vector<int> order_that_shares(const LazyOpPtr& kernel, const LayoutSizes& sizes);

/// The order of axes which puts another axis of the output last, where that gives whole vectors of
/// lanes and the last one, of a few elements, gives none, or half of one with masks; empty where
/// there is no such axis. Of several, one along which no masked load moves, then that of the most
/// lanes and rows. Reduces keep their order.
std::vector<int> order_of_whole_lanes(const LazyOpPtr& kernel, const LayoutSizes& sizes);

/// Whether a copy would be quicker to read: neighbours along `axis` lie apart, or are masked, or
/// those along one of the axes `reduced` lie as far apart as `far_bytes`.
bool is_better_packed(const LazyOp& load, std::size_t axis, std::span<const int> reduced,
                      const LayoutSizes& sizes);

/// Whether vectors read neighbours along an axis: side by side, or every second element.
bool reads_vectors(const LazyOp& load, std::size_t axis);

/// Whether neighbours along `axis` lie far apart and those along the innermost of the axes
/// `reduced` side by side, without masks: a copy then reads whole lines and turns squares in
/// registers, which pays for a single row, too.
bool is_turned(const LazyOp& load, std::size_t axis, std::span<const int> reduced);

/// The order that puts an axis last along which all loads are vectors, before it those along which
/// all reduces are the same: columns of a softmax over rows. Empty where there is none, or reduces
/// differ along the last axis.
std::vector<int> order_of_columns(const LazyOpPtr& kernel, const LayoutSizes& sizes);

/// The last axis with a size other than 1; nullopt where there is none.
std::optional<std::size_t> last_axis(const Shape& shape);

/// Whether the kernel reduces anywhere.
bool reduces(const LazyOpPtr& kernel);

/// The axes of more than one term that a reduce reduces, as bits; all bits where one of them is not
/// among the first 64.
StillAxes reduced_axes(const LazyOp& reduce);

/// Reduces that are not below another reduce and differ along the axis, operands before users.
std::vector<LazyOpPtr> reduces_in_lanes(const LazyOpPtr& kernel, std::size_t axis);

/// Those of reduces_in_lanes, and those below them that are the same for all their terms: a mean
/// below the squares round it. All of them can run one after the other, operands before users.
std::vector<LazyOpPtr> reduces_by_lanes(const LazyOpPtr& kernel, std::size_t axis);

/// Whether what is still along these axes is one value for all elements along this one, of which
/// there certainly is one.
bool same_along(StillAxes still, const Shape& shape, std::size_t axis);
/// How many axes, as LanePlan::outer: without those right before `axis` along which all reduces of
/// the lanes are the same.
std::size_t outer_axes(const LazyOpPtr& kernel, std::size_t axis);

/// Whether lanes along the axis would compute a reduce again for terms of another one for which it
/// is the same, as it stands inside the loop over lanes.
bool lanes_repeat_reduces(const LazyOpPtr& kernel, std::size_t axis);

}  // namespace touchstone::codegen
