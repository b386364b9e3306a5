#include "touchstone/codegen/lanes.h"

#include <algorithm>
#include <unordered_set>

#include "touchstone/ops/node_order.h"
#include "touchstone/ops/still_axes.h"
#include "touchstone/shapetracker/access.h"

namespace touchstone::codegen {

namespace {

constexpr std::int64_t kLeastSize = 4;    // of the axis, and terms of the longest reduce
constexpr std::int64_t kUnitLanes = 64;   // where neighbours lie side by side: whole vectors
constexpr std::int64_t kOtherLanes = 32;  // elsewhere: what all of them use is made once
constexpr std::int64_t kAliasLanes = 8;  // where neighbours would push each other out of the cache:
constexpr std::int64_t kAliasBytes = 4096;  // so far apart, or a multiple, all lie in one set of it
constexpr std::int64_t kVectorLanes = 8;    // lane counts are multiples of this

std::int64_t terms(const LazyOp& reduce) {
  sint product = 1;
  for (const int axis : reduce.reduce_arg().axes)
    product = product * reduce.src()[0]->shape()[static_cast<std::size_t>(axis)];
  return product.max().value_or(0);
}

// Lanes that suit a load whose elements are taken along the axis.
std::int64_t lanes_for(const LazyOp& load, std::size_t axis) {
  const auto stride = real_strides(load.buffer().st, true)[axis];
  if (!stride || !stride->is_int()) return kOtherLanes;
  const std::int64_t step = stride->as_int();
  if (step >= -1 && step <= 1) return kUnitLanes;
  const auto width = static_cast<std::int64_t>(itemsize(load.dtype()));
  return step % (kAliasBytes / width) == 0 ? kAliasLanes : kOtherLanes;
}

std::int64_t lane_count(std::int64_t size, std::int64_t most) {
  if (size <= most) return size;
  const std::int64_t tiles = (size + most - 1) / most;
  const std::int64_t even = (size + tiles - 1) / tiles;
  return (even + kVectorLanes - 1) / kVectorLanes * kVectorLanes;
}

}  // namespace

std::vector<LazyOpPtr> reduces_in_lanes(const LazyOpPtr& kernel, std::size_t axis) {
  const NodeMap<StillAxes> still = still_axes(kernel);
  std::unordered_set<const LazyOp*> above{kernel.get()};
  const std::vector<LazyOpPtr> order = toposort(kernel);
  std::vector<LazyOpPtr> found;
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    if (!above.contains(node->get())) continue;
    if (is_reduce((*node)->op())) {
      if (axis >= 64 || (still[node->get()] >> axis & 1U) == 0) found.push_back(*node);
    } else {
      for (const LazyOpPtr& s : (*node)->src()) above.insert(s.get());
    }
  }
  std::ranges::reverse(found);
  return found;
}

std::optional<LanePlan> plan_lanes(const LazyOpPtr& kernel) {
  const Shape& shape = kernel->shape();
  std::size_t axis = shape.size();
  while (axis > 0 && shape[axis - 1] == sint(1)) --axis;
  if (axis == 0) return std::nullopt;
  --axis;
  if (!shape[axis].is_int() || shape[axis].as_int() < kLeastSize) return std::nullopt;
  const auto reduces = reduces_in_lanes(kernel, axis);
  if (std::ranges::none_of(reduces, [](const auto& r) { return terms(*r) >= kLeastSize; }))
    return std::nullopt;
  std::int64_t most = kUnitLanes;
  for (const LazyOpPtr& reduce : reduces)
    for (const LazyOp* node : ordered_nodes(reduce))
      if (node->op() == Op::Load) most = std::min(most, lanes_for(*node, axis));
  const std::int64_t size = shape[axis].as_int();
  return LanePlan{axis, size, lane_count(size, most)};
}

}  // namespace touchstone::codegen
