#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/ops/lazy_op.h"
#include "touchstone/ops/node_map.h"

namespace touchstone {

/// Bit i: along axis i, of the first 64, all elements of a node are the same, since no view below
/// it moves there or is masked there. What a view hides in its inner views is not looked for.
using StillAxes = std::uint64_t;

/// Of every node below and with `root`.
NodeMap<StillAxes> still_axes(const LazyOpPtr& root);

/// Axes of a kernel's output put in such an order that each reduce that is the same along some of
/// them can be computed outside the loops over those: what most reduces move along comes first.
/// The kernel itself where it is so already. Its STORE is then no longer contiguous.
LazyOpPtr order_axes(const LazyOpPtr& kernel);
/// The kernel with its axis order[i] as axis i: another order of elements and, where axes of one
/// reduce change places, of its terms.
LazyOpPtr with_axes(const LazyOpPtr& kernel, const std::vector<int>& order);

/// A reduce, or other node, without the axes along which it is still and those of size 1 all the
/// way down: equal for two nodes that compute the same from the same loops. Reduced axes stay.
/// `axes`: those that are left, in order.
struct Compact {
  LazyOpPtr node;
  std::vector<int> axes;
};
Compact compact(const LazyOpPtr& node, StillAxes still);

}  // namespace touchstone
