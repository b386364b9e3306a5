#include "touchstone/codegen/lanes.h"

#include <algorithm>
#include <unordered_set>

namespace touchstone::codegen {

namespace {

constexpr std::int64_t kLeastSize = 4;    // of the axis, and terms of the longest reduce
constexpr std::int64_t kUnitLanes = 64;   // where neighbours lie side by side: whole vectors
constexpr std::int64_t kOtherLanes = 8;   // elsewhere: enough to hide the latency of an addition
constexpr std::int64_t kVectorLanes = 8;  // lane counts are multiples of this

std::int64_t terms(const LazyOp& reduce) {
  sint product = 1;
  for (const int axis : reduce.reduce_arg().axes)
    product = product * reduce.src()[0]->shape()[static_cast<std::size_t>(axis)];
  return product.max().value_or(0);
}

// Whether elements of the view next to each other along the axis are so in memory, or the same.
bool is_unit(const ShapeTracker& st, std::size_t axis) {
  const auto stride = st.real_strides(true)[axis];
  return stride && (*stride == sint(0) || *stride == sint(1) || *stride == sint(-1));
}

std::int64_t lane_count(std::int64_t size, std::int64_t most) {
  if (size <= most) return size;
  const std::int64_t tiles = (size + most - 1) / most;
  const std::int64_t even = (size + tiles - 1) / tiles;
  return (even + kVectorLanes - 1) / kVectorLanes * kVectorLanes;
}

}  // namespace

std::vector<LazyOpPtr> outer_reduces(const LazyOpPtr& kernel) {
  std::unordered_set<const LazyOp*> above{kernel.get()};
  const std::vector<LazyOpPtr> order = toposort(kernel);
  std::vector<LazyOpPtr> found;
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    if (!above.contains(node->get())) continue;
    if (is_reduce((*node)->op()))
      found.push_back(*node);
    else
      for (const LazyOpPtr& s : (*node)->src()) above.insert(s.get());
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
  const auto reduces = outer_reduces(kernel);
  if (std::ranges::none_of(reduces, [](const auto& r) { return terms(*r) >= kLeastSize; }))
    return std::nullopt;
  bool unit = true;
  for (const LazyOpPtr& reduce : reduces)
    for (const LazyOpPtr& node : toposort(reduce))
      unit = unit && (node->op() != Op::Load || is_unit(node->buffer().st, axis));
  const std::int64_t size = shape[axis].as_int();
  return LanePlan{axis, size, lane_count(size, unit ? kUnitLanes : kOtherLanes)};
}

}  // namespace touchstone::codegen
