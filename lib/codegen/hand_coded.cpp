#include <algorithm>
#include <set>

#include "touchstone/codegen/plan.h"
#include "touchstone/ops/node_order.h"
#include "touchstone/ops/still_axes.h"
#include "touchstone/shapetracker/ask/access.h"

namespace touchstone::codegen {

namespace {

std::int64_t number(std::size_t axis) { return static_cast<std::int64_t>(axis); }

// Tiles of an output that exceeds the caches are larger: their rows are written with non-temporal
// stores, and hardware does not prefetch within tiles.
void add_tile(Opts& opts, const LazyOpPtr& axes, LayoutSizes sizes) {
  const bool past = goes_past_cache(buffers_of(axes).front(), sizes);
  auto plan = plan_tiles(axes, sizes);
  if (past) sizes.tile *= 2;
  if (auto larger = plan_tiles(axes, sizes); past && larger) plan = std::move(larger);
  if (!plan) return;
  opts.push_back(
      {OptKind::Tile, {number(plan->row), number(plan->column), plan->rows, plan->columns}});
  if (past) opts.push_back({OptKind::Prefetch, {1}});
}

// Splits the last loop where masks begin and end, so that the parts between test no mask: for
// concatenated arrays, or a padded one.
void add_peel(Opts& opts, const LazyOpPtr& axes, const LayoutSizes& sizes) {
  constexpr std::int64_t kLeastRows = 16;  // shared by threads
  const Shape& shape = axes->shape();
  const auto axis = last_axis(shape);
  if (!axis || !shape[*axis].is_int()) return;
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < *axis; ++i)
    rows = std::min(rows * std::min(shape[i].min().value_or(0), kLeastRows), kLeastRows);
  if (rows < kLeastRows) return;
  const sint& size = shape[*axis];
  std::set<std::int64_t> cuts;
  for (const LazyOp* node : ordered_nodes(axes)) {
    const auto* const loaded = std::get_if<MemBuffer>(&node->arg());
    const auto* const constant = std::get_if<ConstBuffer>(&node->arg());
    if (loaded == nullptr && constant == nullptr) continue;
    if (node->op() == Op::Gather || node->op() == Op::Store) continue;
    const View& view = (loaded != nullptr ? loaded->st : constant->st).views().back();
    if (!view.mask()) continue;
    const auto& [begin, end] = (*view.mask())[*axis];
    for (const sint& cut : {begin, end})
      if (cut.is_int() && cut != sint(0) && cut != size) cuts.insert(cut.as_int());
  }
  constexpr std::size_t kMostCuts = 2;
  if (cuts.empty() || cuts.size() > kMostCuts) return;
  const std::int64_t first = *cuts.begin(), end = size.as_int(),
                     last = cuts.size() == 1 ? 0 : end - *cuts.rbegin();
  // An output written past the caches stays one loop, unless the parts are long.
  constexpr std::int64_t kLeastPast = 1024;
  if (goes_past_cache(buffers_of(axes).front(), sizes) &&
      std::min({first, last == 0 ? end : last, end - first - last}) < kLeastPast)
    return;
  opts.push_back({OptKind::Peel, {first, last}});
}

// The kernel with its axes reordered on top of the order in `opts`.
LazyOpPtr reordered(Opts& opts, const LazyOpPtr& axes, const std::vector<int>& order) {
  if (order.empty()) return axes;
  std::vector<std::int64_t> all(order.begin(), order.end());
  const auto before = std::ranges::find(opts, OptKind::Reorder, &Opt::kind);
  if (before == opts.end()) {
    opts.push_back({OptKind::Reorder, std::move(all)});
  } else {
    for (std::int64_t& axis : all) axis = before->args[static_cast<std::size_t>(axis)];
    before->args = std::move(all);
  }
  return with_axes(axes, order);
}

void add_lanes(Opts& opts, const LazyOpPtr& axes, const CodegenOptions& options) {
  const auto plan = plan_lanes(axes, options.sizes);
  if (!plan) return;
  opts.push_back({OptKind::Lanes, {plan->lanes}});
  if (plan->block > 1) opts.push_back({OptKind::Block, {number(plan->block_axis), plan->block}});
  if (plan->written > 1) opts.push_back({OptKind::Unroll, {plan->written}});
  if (!options.stages || plan->written > 1) return;
  opts.push_back({OptKind::Stage, {options.sizes.staged_bytes}});
  if (plan->packed)
    opts.push_back({OptKind::Pack, {number(plan->outer), options.sizes.packed_bytes}});
}

// For running sums over data that exceeds the caches: hardware prefetching stops at each page, and
// work between the loads limits how many are in flight.
std::int64_t rounds_ahead(const LazyOpPtr& axes, std::int64_t sums, const LayoutSizes& sizes) {
  constexpr std::int64_t kBytesAhead = 8192;
  std::int64_t widest = 0;
  for (const BufferSpec& b : buffers_of(axes))
    if (b.idx != 0 && goes_past_cache(b, sizes))
      widest = std::max(widest, static_cast<std::int64_t>(itemsize(b.dtype)));
  if (widest == 0) return 0;
  return std::clamp<std::int64_t>(kBytesAhead / (sums * widest), 1, kMostAhead);
}

// Maxima, whose order is free: rows of overlapping windows share their loads, and a few adjacent
// terms are worse than adjacent outputs.
bool are_maxima_of_windows(const LazyOpPtr& axes, const CodegenOptions& options) {
  if (!options.lanes) return false;
  const std::vector<const LazyOp*> nodes = ordered_nodes(axes);
  const auto is = [](Op op) { return [op](const LazyOp* node) { return node->op() == op; }; };
  if (std::ranges::any_of(nodes, is(Op::ReduceSum))) return false;
  const auto plan = plan_lanes(axes, options.sizes);
  if (!plan || plan->lanes < options.sizes.vector) return false;
  if (plan->written > 1) return true;
  return std::ranges::all_of(nodes, [&](const LazyOp* node) {
    if (node->op() == Op::Load) return reads_vectors(*node, plan->axis);
    if (node->op() != Op::ReduceMax || node->reduce_arg().axes.empty()) return true;
    const auto last = static_cast<std::size_t>(node->reduce_arg().axes.back());
    const sint& terms = node->src()[0]->shape()[last];
    return terms.is_int() && terms.as_int() < options.sizes.vector;
  });
}

// A short output axis along which no load moves: adjacent outputs compute different results from
// the same terms, which are read once for all.
std::optional<std::size_t> axis_of_equal_loads(const LazyOpPtr& axes) {
  constexpr std::int64_t kMostRows = 4;
  const Shape& shape = axes->shape();
  const std::vector<const LazyOp*> nodes = ordered_nodes(axes);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!shape[axis].is_int() || shape[axis].as_int() < 2 || shape[axis].as_int() > kMostRows)
      continue;
    if (std::ranges::all_of(nodes, [&](const LazyOp* node) {
          return node->op() != Op::Gather &&
                 (node->op() != Op::Load || real_strides(node->buffer().st, true)[axis] == sint(0));
        }))
      return axis;
  }
  return std::nullopt;
}

}  // namespace

Opts hand_coded(const LazyOpPtr& kernel, const LazyOpPtr& axes, const CodegenOptions& options) {
  Opts opts;
  if (!reduces(kernel)) {
    if (options.stages) add_tile(opts, axes, options.sizes);
    if (opts.empty()) add_peel(opts, axes, options.sizes);
    return opts;
  }
  LazyOpPtr ordered = axes;
  if (options.lanes && options.stages)
    ordered = reordered(opts, axes, order_that_shares(axes, options.sizes));
  if (options.order == TermOrder::RunningSums && rounds_pay(kernel, ordered) &&
      !are_maxima_of_windows(ordered, options)) {
    const RunningSums running = plan_running_sums(ordered, still_axes(ordered));
    if (!running.reduces.empty()) {
      if (const auto axis = axis_of_equal_loads(ordered))
        opts.push_back({OptKind::Block, {number(*axis), ordered->shape()[*axis].as_int()}});
      opts.push_back({OptKind::Sums, {running.count}});
      if (const std::int64_t rounds = rounds_ahead(axes, running.count, options.sizes); rounds > 0)
        opts.push_back({OptKind::Prefetch, {rounds}});
      return opts;
    }
  }
  if (!options.lanes) return opts;
  if (const std::vector<int> order = order_of_columns(ordered, options.sizes); !order.empty()) {
    add_lanes(opts, reordered(opts, ordered, order), options);
    return opts;
  }
  if (const std::vector<int> order = order_of_whole_lanes(ordered, options.sizes); !order.empty()) {
    ordered = reordered(opts, ordered, order);
    if (options.stages)
      ordered = reordered(opts, ordered, order_that_shares(ordered, options.sizes));
  }
  add_lanes(opts, ordered, options);
  return opts;
}

Opts chosen_opts(const LazyOpPtr& kernel, const LazyOpPtr& axes, const CodegenOptions& options) {
  if (options.opts) return *options.opts;
  if (options.layout_seed != 0) return drawn(kernel, axes, options);
  return hand_coded(kernel, axes, options);
}

}  // namespace touchstone::codegen

namespace touchstone {

Opts hand_coded_optimizations(const LazyOpPtr& kernel, const CodegenOptions& options) {
  return codegen::hand_coded(kernel, axes_of_opts(kernel, options), options);
}

std::optional<std::string> refusal(const LazyOpPtr& kernel, const Opts& opts,
                                   const CodegenOptions& options) {
  try {
    codegen::make_plan(axes_of_opts(kernel, options), opts);
    return std::nullopt;
  } catch (const AstError& e) {
    return e.what();
  }
}

}  // namespace touchstone
