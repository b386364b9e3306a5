#include "touchstone/codegen/running_sums.h"

#include <algorithm>

#include "touchstone/ops/node_order.h"
#include "touchstone/shapetracker/access.h"

namespace touchstone::codegen {

namespace {

constexpr std::int64_t kMany = 256, kSome = 64;  // terms along the innermost axis
constexpr std::int64_t kManySums = 64, kSomeSums = 16, kFewestSums = 8;

bool is_stride(const LazyOp& load, std::size_t axis, std::int64_t least, std::int64_t most) {
  const auto stride = real_strides(load.buffer().st, true)[axis];
  return stride && stride->is_int() && stride->as_int() >= least && stride->as_int() <= most;
}

// The innermost axis of a reduce that has more than one element.
std::optional<std::size_t> innermost(const LazyOp& reduce) {
  std::optional<std::size_t> found;
  for (const int axis : reduce.reduce_arg().axes)
    if (const auto i = static_cast<std::size_t>(axis); reduce.src()[0]->shape()[i] != sint(1))
      found = std::max(found.value_or(0), i);
  return found;
}

// How many sums a reduce should run; 0 where it should run one.
std::int64_t sums_of(const LazyOpPtr& reduce) {
  const auto axis = innermost(*reduce);
  if (!axis) return 0;
  const Shape& shape = reduce->src()[0]->shape();
  if (!std::ranges::all_of(reduce->reduce_arg().axes, [&](int a) {
        const sint& size = shape[static_cast<std::size_t>(a)];
        return size.is_int() && size.as_int() > 0;
      }))
    return 0;
  const std::int64_t terms = shape[*axis].as_int();
  bool side_by_side = false;
  for (const LazyOp* node : ordered_nodes(reduce)) {
    if (node == reduce.get()) continue;
    if (is_reduce(node->op()) || node->op() == Op::Gather) return 0;
    if (node->op() != Op::Load) continue;
    if (!is_stride(*node, *axis, 0, 1)) return 0;
    side_by_side = side_by_side || is_stride(*node, *axis, 1, 1);
  }
  if (!side_by_side) return 0;
  std::int64_t sums = terms >= kMany ? kManySums : terms >= kSome ? kSomeSums : 0;
  // Every sums-th term of all is every sums-th of the innermost axis.
  const bool one_axis = std::ranges::all_of(reduce->reduce_arg().axes, [&](int a) {
    const auto i = static_cast<std::size_t>(a);
    return i == *axis || shape[i] == sint(1);
  });
  while (!one_axis && sums > 0 && terms % sums != 0) sums /= 2;
  return sums >= kFewestSums ? sums : 0;
}

bool outputs_lie_side_by_side(const LazyOpPtr& kernel, const LanePlan& plan) {
  if (plan.packed) return true;
  const std::vector<LazyOpPtr> reduces = reduces_in_lanes(kernel, plan.axis);
  return std::ranges::any_of(reduces, [&](const LazyOpPtr& reduce) {
    return std::ranges::any_of(ordered_nodes(reduce), [&](const LazyOp* node) {
      return node->op() == Op::Load && is_stride(*node, plan.axis, 1, 1);
    });
  });
}

}  // namespace

RunningSums plan_running_sums(const LazyOpPtr& kernel, const std::optional<LanePlan>& outputs) {
  if (outputs && outputs_lie_side_by_side(kernel, *outputs)) return {};
  RunningSums plan;
  plan.count = kManySums;
  for (const LazyOpPtr& node : toposort(kernel)) {
    if (!is_reduce(node->op())) continue;
    const std::int64_t sums = sums_of(node);
    if (sums > 0) {
      plan.count = std::min(plan.count, sums);
      plan.reduces.insert(node.get());
    } else if (node->op() == Op::ReduceSum && is_float(node->dtype())) {
      return {};
    }
  }
  if (plan.reduces.empty()) plan.count = 1;
  return plan;
}

}  // namespace touchstone::codegen
