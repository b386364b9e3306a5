#include "touchstone/codegen/plan.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "touchstone/ops/node_order.h"
#include "touchstone/ops/still_axes.h"

namespace touchstone::codegen {

namespace {

constexpr std::int64_t kMostLanes = 4096;  // including the rows of a block
constexpr std::int64_t kMostRows = 64;
constexpr std::int64_t kMostBytes = 1 << 20;  // of arrays, which are on a thread's stack
constexpr std::int64_t kMostInTile = 1 << 14;
constexpr std::int64_t kMostInText = 8192;  // terms; clang takes 12 s for six times as many
constexpr std::int64_t kMostSums = 65536;   // a profile's limit

template <class... Args>
[[noreturn]] void refuse(const Opt& opt, fmt::format_string<Args...> why, Args&&... args) {
  throw AstError(
      fmt::format("{}: {}", str(Opts{opt}), fmt::format(why, std::forward<Args>(args)...)));
}

void in_range(const Opt& opt, std::size_t arg, std::int64_t least, std::int64_t most) {
  if (opt.args[arg] < least || opt.args[arg] > most)
    refuse(opt, "number {} must be from {} to {}", arg + 1, least, most);
}

std::size_t axis_of(const Opt& opt, std::size_t arg, const Shape& shape) {
  if (shape.empty()) refuse(opt, "the kernel has one element, and no axes");
  in_range(opt, arg, 0, static_cast<std::int64_t>(shape.size()) - 1);
  return static_cast<std::size_t>(opt.args[arg]);
}

// Axes of one reduce keep their order, which is that of its terms.
LazyOpPtr reordered(const LazyOpPtr& kernel, const Opt& opt) {
  const std::size_t rank = kernel->shape().size();
  std::vector<int> order;
  for (const std::int64_t axis : opt.args) order.push_back(static_cast<int>(axis));
  std::vector<int> sorted = order, all(rank);
  std::ranges::sort(sorted);
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all)
    refuse(opt, "the numbers must be a permutation of the axes 0 to {}",
           static_cast<std::int64_t>(rank) - 1);
  std::vector<int> place(rank);
  for (std::size_t i = 0; i < rank; ++i)
    place[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  for (const LazyOp* node : ordered_nodes(kernel)) {
    if (!is_reduce(node->op())) continue;
    std::vector<int> axes = node->reduce_arg().axes;
    const auto where = [&](int axis) { return place[static_cast<std::size_t>(axis)]; };
    if (!std::ranges::is_sorted(axes, {}, where))
      refuse(opt, "the axes {} of one reduce must keep their order", fmt::join(axes, ", "));
  }
  return with_axes(kernel, order);
}

LanePlan lane_plan(const LazyOpPtr& kernel, const Opt& opt) {
  const Shape& shape = kernel->shape();
  const auto axis = last_axis(shape);
  if (!axis) refuse(opt, "the kernel has one element, and no lanes");
  if (!shape[*axis].is_int())
    refuse(opt, "the size of the last axis is {}; it must be a number",
           render(shape[*axis].node()));
  LanePlan plan;
  plan.axis = *axis;
  plan.outer = outer_axes(kernel, plan.axis);
  plan.size = shape[*axis].as_int();
  in_range(opt, 0, 2, std::min(plan.size, kMostLanes));
  if (reduces_in_lanes(kernel, *axis).empty())
    refuse(opt, "no reduce differs along axis {}, the last", *axis);
  plan.lanes = opt.args[0];
  return plan;
}

// For lanes or running sums, with `side_by_side` accumulators per row.
void add_block(Plan& plan, const Opt& opt, std::int64_t side_by_side) {
  const Shape& shape = plan.kernel->shape();
  const std::size_t axis = axis_of(opt, 0, shape);
  in_range(opt, 1, 2, kMostRows);
  if (plan.lanes && axis >= plan.lanes->axis)
    refuse(opt, "rows must be along an axis before that of the lanes, {}", plan.lanes->axis);
  if (!shape[axis].is_int() || shape[axis].as_int() % opt.args[1] != 0)
    refuse(opt, "{} rows do not divide axis {} of {}", opt.args[1], axis,
           render(shape[axis].node()));
  if (opt.args[1] * side_by_side > kMostLanes)
    refuse(opt, "{} rows of {} {} exceed {} accumulators", opt.args[1], side_by_side,
           plan.lanes ? "lanes" : "sums", kMostLanes);
  (plan.lanes ? plan.lanes->block_axis : plan.running.block_axis) = axis;
  (plan.lanes ? plan.lanes->block : plan.running.block) = opt.args[1];
}

TilePlan tile_plan(const LazyOpPtr& kernel, const Opt& opt) {
  const Shape& shape = kernel->shape();
  const std::size_t row = axis_of(opt, 0, shape), column = axis_of(opt, 1, shape);
  if (row == column) refuse(opt, "rows and columns must be along different axes");
  for (const auto& [axis, size] : {std::pair(row, opt.args[2]), std::pair(column, opt.args[3])}) {
    if (size < 1 || !shape[axis].is_int() || shape[axis].as_int() % size != 0)
      refuse(opt, "{} does not divide axis {} of {}", size, axis, render(shape[axis].node()));
  }
  if (opt.args[2] > kMostInTile / opt.args[3])
    refuse(opt, "a tile must have at most {} elements", kMostInTile);
  if (reduces(kernel)) refuse(opt, "the kernel reduces; use lanes(count)");
  return tiles_of(kernel, row, column, opt.args[2], opt.args[3]);
}

// An empty part would still be a loop.
Plan::Peel peel_of(const LazyOpPtr& kernel, const Opt& opt) {
  const std::optional<std::size_t> axis = last_axis(kernel->shape());
  if (!axis) refuse(opt, "the kernel has one element, and no loop");
  if (reduces(kernel)) refuse(opt, "the kernel reduces");
  const sint& size = kernel->shape()[*axis];
  if (!size.is_int())
    refuse(opt, "axis {} has the size {}, which is not a number", *axis, render(size.node()));
  if (size == sint(0)) refuse(opt, "axis {} has no elements", *axis);
  for (const std::size_t arg : {std::size_t{0}, std::size_t{1}})
    in_range(opt, arg, 0, size.as_int() - 1);
  const Plan::Peel peel{opt.args[0], opt.args[1]};
  if (peel.first >= size.as_int() - peel.last || peel.first + peel.last == 0)
    refuse(opt, "of {} elements, the peeled parts must take some and leave some", size.as_int());
  return peel;
}

std::size_t loops_to_share(const Plan& plan) {
  const Shape& shape = plan.kernel->shape();
  std::size_t loops = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    sint size = plan.loop_size(axis);
    if (plan.lanes && axis == plan.lanes->axis)
      size = plan.lanes->tiles() > 1 && !plan.lanes->overlaps() ? 2 : 1;
    else if (plan.peel && axis == last_axis(shape))
      size = 1;
    else if (plan.tiles && axis == plan.tiles->row)
      size = size.as_int() / plan.tiles->rows;
    else if (plan.tiles && axis == plan.tiles->column)
      size = size.as_int() / plan.tiles->columns;
    if (size != sint(1)) ++loops;
  }
  return loops;
}

// Checks opts that require or exclude each other.
void check_together(const Opts& opts) {
  const auto needs = [&](OptKind kind, OptKind other) {
    if (const Opt* const opt = find(opts, kind); opt != nullptr && find(opts, other) == nullptr)
      refuse(*opt, "needs {0}({1})", info(other).name, info(other).arguments);
  };
  const auto excludes = [&](OptKind kind, OptKind other) {
    if (const Opt* const opt = find(opts, kind); opt != nullptr && find(opts, other) != nullptr)
      refuse(*opt, "excludes {}(...)", info(other).name);
  };
  for (const OptKind kind : {OptKind::Stage, OptKind::Pack}) needs(kind, OptKind::Lanes);
  if (find(opts, OptKind::Sums) == nullptr) needs(OptKind::Block, OptKind::Lanes);
  if (find(opts, OptKind::Sums) == nullptr) needs(OptKind::Prefetch, OptKind::Tile);
  excludes(OptKind::Sums, OptKind::Lanes);
  excludes(OptKind::Peel, OptKind::Tile);
}

}  // namespace

std::int64_t Plan::rows_along(std::size_t axis) const {
  if (lanes) return axis == lanes->block_axis ? lanes->block : 1;
  return axis == running.block_axis ? running.block : 1;
}

sint Plan::loop_size(std::size_t axis) const {
  const std::int64_t rows = rows_along(axis);
  const sint& size = kernel->shape()[axis];
  return rows > 1 ? sint(size.as_int() / rows) : size;
}

Plan make_plan(const LazyOpPtr& kernel, const Opts& opts) {
  check_together(opts);
  Plan plan;
  const Opt* const reorder = find(opts, OptKind::Reorder);
  plan.kernel = reorder == nullptr ? kernel : reordered(kernel, *reorder);
  const Opt* const block = find(opts, OptKind::Block);
  if (const Opt* const lanes = find(opts, OptKind::Lanes)) {
    plan.lanes = lane_plan(plan.kernel, *lanes);
    if (block != nullptr) add_block(plan, *block, plan.lanes->lanes);
  }
  if (const Opt* const stage = find(opts, OptKind::Stage)) {
    in_range(*stage, 0, 1, kMostBytes);
    plan.staged_bytes = stage->args[0];
  }
  if (const Opt* const pack = find(opts, OptKind::Pack)) {
    in_range(*pack, 0, 0, static_cast<std::int64_t>(plan.lanes->axis));
    in_range(*pack, 1, 1, kMostBytes);
    plan.lanes->packed = true;
    plan.lanes->outer = std::min(plan.lanes->outer, static_cast<std::size_t>(pack->args[0]));
    plan.packed_bytes = pack->args[1];
  }
  if (const Opt* const tile = find(opts, OptKind::Tile)) plan.tiles = tile_plan(plan.kernel, *tile);
  if (const Opt* const prefetch = find(opts, OptKind::Prefetch)) {
    in_range(*prefetch, 0, 1, kMostAhead);
    (plan.tiles ? plan.tiles->ahead : plan.ahead) = prefetch->args[0];
  }
  if (const Opt* const sums = find(opts, OptKind::Sums)) {
    in_range(*sums, 0, 2, kMostSums);
    if (!std::has_single_bit(static_cast<std::uint64_t>(sums->args[0])))
      refuse(*sums, "the number must be a power of 2");
    const bool apart = sums->args.size() > 1 && sums->args[1] != 0;
    plan.running = running_sums_of(plan.kernel, still_axes(plan.kernel), apart);
    if (plan.running.reduces.empty())
      refuse(*sums, "the terms of its reduces are not adjacent in memory");
    plan.running.count = sums->args[0];
    if (block != nullptr) add_block(plan, *block, plan.running.count);
  }
  if (const Opt* const unroll = find(opts, OptKind::Unroll)) {
    in_range(*unroll, 0, 2, kMostWritten);
    if (!reduces(kernel)) refuse(*unroll, "the kernel has no reduce");
    plan.unroll = unroll->args[0];
    if (plan.lanes && plan.staged_bytes == 0 &&
        plan.unroll * plan.lanes->block > kMostInText / plan.lanes->lanes)
      refuse(*unroll, "terms of all rows and lanes together exceed {} per iteration", kMostInText);
  }
  if (const Opt* const peel = find(opts, OptKind::Peel)) plan.peel = peel_of(plan.kernel, *peel);
  if (const Opt* const parallel = find(opts, OptKind::Parallel)) {
    const std::size_t loops = loops_to_share(plan);
    if (loops == 0) refuse(*parallel, "no loop over the output can be shared");
    in_range(*parallel, 0, 0, static_cast<std::int64_t>(loops) - 1);
    plan.parallel = static_cast<std::size_t>(parallel->args[0]);
  }
  return plan;
}

}  // namespace touchstone::codegen
