#include "touchstone/codegen/running_sums.h"

#include <algorithm>

#include "touchstone/codegen/lanes.h"
#include "touchstone/ops/node_order.h"
#include "touchstone/ops/still_axes.h"
#include "touchstone/shapetracker/ask/access.h"

namespace touchstone::codegen {

namespace {

// Independent of sizes, so that a kernel with a variable gives the same bits.
constexpr std::int64_t kRunningSums = 16;
// For maxima and integers, whose order is free, along axes long enough to make folding negligible:
// enough to keep the processor busy.
constexpr std::int64_t kRunningMaxima = 64, kLongAxis = 256;

constexpr int kMostReduces = 64;

bool is_stride(const LazyOp& load, std::size_t axis, std::int64_t least, std::int64_t most) {
  const auto stride = real_strides(load.buffer().st, true)[axis];
  return stride && stride->is_int() && stride->as_int() >= least && stride->as_int() <= most;
}

// The innermost reduce axis with more than one element.
std::optional<std::size_t> innermost(const LazyOp& reduce) {
  const std::vector<std::size_t> axes = looped_axes(reduce);
  return axes.empty() ? std::nullopt : std::optional(axes.back());
}

struct Reach {
  bool fits = true;           // all adjacent terms are adjacent in memory or equal
  bool side_by_side = false;  // some are adjacent
};

// The loads of a term along an axis. A nested reduce must be constant along it.
Reach reach_of(const LazyOp& term, std::size_t axis, const NodeMap<StillAxes>& still, bool apart) {
  Reach reach;
  std::vector<const LazyOp*> open{&term};
  std::unordered_set<const LazyOp*> seen{&term};
  while (!open.empty() && reach.fits) {
    const LazyOp* const node = open.back();
    open.pop_back();
    if (is_reduce(node->op())) {
      reach.fits = is_still(still[node], axis);
      continue;
    }
    if (node->op() == Op::Load) {
      reach.fits = apart || is_stride(*node, axis, 0, 1);
      reach.side_by_side = reach.side_by_side || apart || is_stride(*node, axis, 1, 1);
    }
    reach.fits = reach.fits && node->op() != Op::Gather;
    for (const LazyOpPtr& s : node->src())
      if (seen.insert(s.get()).second) open.push_back(s.get());
  }
  return reach;
}

bool stands_along(const LazyOp& load, std::size_t axis) { return is_stride(load, axis, 0, 0); }

bool lie_side_by_side(const LazyOpPtr& reduce, const NodeMap<StillAxes>& still, bool apart) {
  const auto axis = innermost(*reduce);
  if (!axis) return false;
  const Reach reach = reach_of(*reduce->src()[0], *axis, still, apart);
  return reach.fits && reach.side_by_side;
}

// True if vectorizing adjacent outputs is better: a load is contiguous along the last output axis
// or, as in a matrix product, constant while another one moves.
bool outputs_serve_better(const LazyOp& reduce, std::size_t lane) {
  const std::vector<int>& axes = reduce.reduce_arg().axes;
  bool moves = false, stays = false;
  for (const LazyOp* node : ordered_nodes(reduce)) {
    if (node->op() != Op::Load || std::ranges::all_of(axes, [&](int a) {
          return stands_along(*node, static_cast<std::size_t>(a));
        }))
      continue;
    if (is_stride(*node, lane, -1, -1) || is_stride(*node, lane, 1, 1)) return true;
    (stands_along(*node, lane) ? stays : moves) = true;
  }
  return moves && stays;
}

bool is_long_and_free(const LazyOp& reduce) {
  const auto axis = innermost(reduce);
  const sint size = axis ? reduce.src()[0]->shape()[*axis] : sint(1);
  return !is_float_sum(reduce) && size.is_int() && size.as_int() >= kLongAxis;
}

}  // namespace

bool is_float_sum(const LazyOp& node) {
  return node.op() == Op::ReduceSum && is_float(node.dtype());
}

namespace {

// True if every float sum is over one axis, or fits.
template <class Fits>
bool sums_fit(const LazyOpPtr& kernel, const Fits& fits) {
  return std::ranges::all_of(ordered_nodes(kernel), [&](const LazyOp* node) {
    if (!is_float_sum(*node) || looped_axes(*node).size() < 2) return true;
    const sint& terms = node->src()[0]->shape()[*innermost(*node)];
    return terms.is_int() && fits(*node, terms.as_int());
  });
}

}  // namespace

bool rounds_are_whole(const LazyOpPtr& kernel, std::int64_t count) {
  return sums_fit(kernel, [&](const LazyOp&, std::int64_t terms) { return terms % count == 0; });
}

bool rounds_pay(const LazyOpPtr& kernel, const LazyOpPtr& axes) {
  constexpr std::int64_t kLongRow = 64;
  const auto is_reduced = [](const LazyOp* node) { return is_reduce(node->op()); };
  return sums_fit(kernel,
                  [](const LazyOp&, std::int64_t terms) { return terms >= kRunningSums; }) &&
         sums_fit(axes, [&](const LazyOp& sum, std::int64_t terms) {
           return terms % kRunningSums == 0 ||
                  (terms >= kLongRow &&
                   std::ranges::none_of(ordered_nodes(sum.src()[0]), is_reduced));
         });
}

RunningSums running_sums_of(const LazyOpPtr& kernel, const NodeMap<StillAxes>& still, bool apart) {
  RunningSums plan;
  int reduces = 0;
  for (const LazyOpPtr& node : toposort(kernel)) {
    if (!is_reduce(node->op())) continue;
    if (++reduces > kMostReduces) return {};  // each may be nested in the next
    if (lie_side_by_side(node, still, apart))
      plan.reduces.insert(node.get());
    else if (is_float_sum(*node))
      return {};
  }
  if (plan.reduces.empty()) return plan;
  const bool any_order = std::ranges::all_of(
      plan.reduces, [](const auto& reduce) { return is_long_and_free(*reduce); });
  plan.count =
      any_order && reduces == static_cast<int>(plan.reduces.size()) ? kRunningMaxima : kRunningSums;
  return plan;
}

std::int64_t accumulators_of(const LazyOp& reduce, std::int64_t count) {
  return is_long_and_free(reduce) ? std::max(count, kRunningMaxima) : count;
}

RunningSums plan_running_sums(const LazyOpPtr& kernel, const NodeMap<StillAxes>& still) {
  if (const auto lane = last_axis(kernel->shape()))
    for (const LazyOp* node : ordered_nodes(kernel))
      if (is_reduce(node->op()) && outputs_serve_better(*node, *lane)) return {};
  return running_sums_of(kernel, still);
}

}  // namespace touchstone::codegen
