#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/ops/lazy_op.h"
#include "touchstone/ops/node_map.h"

namespace touchstone {

/// Bit i (first 64 axes): all elements of a node along axis i are equal, because no view below
/// moves or is masked along it. Of a stack, the outermost view counts, and the next without masks.
using StillAxes = std::uint64_t;
constexpr bool is_still(StillAxes still, std::size_t axis) {
  return axis < 64 && (still >> axis & 1U) != 0;
}

/// The still axes of every node of the tree. A view that is all masked is still along all axes, but
/// not if `looks_at_masks` is false, for callers that leave out still axes with their masks.
NodeMap<StillAxes> still_axes(const LazyOpPtr& root, bool looks_at_masks = true);

/// Reorders the output axes so that each reduce can be computed outside the loops over its still
/// axes: axes along which most reduces move come first. Returns the kernel itself if already so.
/// The result's STORE is not contiguous.
LazyOpPtr order_axes(const LazyOpPtr& kernel);
/// The kernel with its axis order[i] as axis i. This changes the order of the elements and, if axes
/// of one reduce change places, of the reduce's terms.
LazyOpPtr with_axes(const LazyOpPtr& kernel, const std::vector<int>& order);

/// A node without its still axes and axes that have size 1 in every node below: equal for two nodes
/// that compute the same from the same loops. Reduced axes stay. `axes`: the remaining axes, in
/// order.
struct Compact {
  LazyOpPtr node;
  std::vector<int> axes;
};
Compact compact(const LazyOpPtr& node, StillAxes still);

}  // namespace touchstone
