// Lanes: tiles along the last axis, blocks of rows, and their reduces.
#include <algorithm>

#include "touchstone/codegen/linearizer.h"
#include "touchstone/ops/node_order.h"

namespace touchstone::codegen {

using symbolic::Node;

// For each tile along the last axis and each block of rows: all reduces, then the outputs. Rows
// that share packed arrays or a reduce are looped inside the tile; if tiles are few, threads share
// these rows.
LinearKernel Linearizer::store_in_lanes(const LanePlan& plan) {
  Indices tile(kernel_->shape().size(), Node(0));
  std::vector<int> shared = open_output_loops(tile, 0, plan.outer);
  const std::size_t outside = shared.size();
  const Node base = open_tiles(plan);
  // Two threads must not write the same output.
  if (plan.tiles() > 1 && !plan.overlaps()) shared.push_back(builder_.innermost_loop());
  const bool has_tiles = shared.size() > outside;
  const auto rows_at = [&] {
    std::vector<Indices> rows(static_cast<std::size_t>(plan.block), tile);
    for (std::size_t row = 1; row < rows.size(); ++row)
      rows[row][plan.block_axis] = tile[plan.block_axis] + Node(static_cast<std::int64_t>(row));
    return rows;
  };
  const std::vector<LazyOpPtr> reduces = reduces_by_lanes(kernel_, plan.axis);
  for (const LazyOpPtr& reduce : reduces)
    if (is_ahead(*reduce, plan)) reduce_in_lanes(*reduce, plan, rows_at(), base);
  const std::vector<int> inner = open_output_loops(tile, plan.outer, plan.axis);
  shared.insert(shared.end(), inner.begin(), inner.end());
  // With few tiles threads share the rows, although each then packs the shared data.
  constexpr std::int64_t kManyTiles = 16;
  const bool few_tiles = outside == 0 && has_tiles && plan.tiles() < kManyTiles;
  const int best = shared.empty()                               ? -1
                   : few_tiles && plan.packed && !inner.empty() ? inner[0]
                                                                : shared[0];
  const std::vector<Indices> rows = rows_at();
  for (const LazyOpPtr& reduce : reduces)
    if (!is_ahead(*reduce, plan)) reduce_in_lanes(*reduce, plan, rows, base);
  const std::vector<int> at = open_lanes(plan, rows, base);
  for (const LazyOpPtr& reduce : reduces_in_lanes(kernel_, plan.axis)) take_from_lanes(*reduce, at);
  for (const int row : at) write(row);
  while (builder_.inside_loop()) builder_.close_loop();
  return builder_.finish(split_of(shared, best));
}

// The first element of a tile along the axis; opens a loop over tiles if there are several.
Node Linearizer::open_tiles(const LanePlan& plan) {
  if (plan.tiles() == 1) return Node(0);
  Node tile;
  const int counter = open_loop(plan.tiles(), "i", tile);
  if (!plan.overlaps()) return tile * Node(plan.lanes);
  const int begin = builder_.index(IndexOp::Mul, {counter, builder_.int_const(plan.lanes)});
  const std::int64_t last = plan.size - plan.lanes;
  std::string name = fmt::format("{}_begin", builder_.loop_name(counter));
  while (names_.contains(name)) name += '_';  // avoid names of the kernel's variables
  names_[name] = builder_.index(IndexOp::Min, {begin, builder_.int_const(last)});
  return symbolic::variable(name, 0, last);
}

// Opens a loop over the lanes of a tile; returns the inner index set of each row of a block.
std::vector<int> Linearizer::open_lanes(const LanePlan& plan, const std::vector<Indices>& rows,
                                        Node base) {
  Node lane;
  open_loop(plan.lanes, "l", lane);
  std::vector<int> sets;
  for (Indices indices : rows) {
    indices[plan.axis] = base + lane;
    sets.push_back(add_indices(std::move(indices)));
  }
  return sets;
}

// True if a reduce is constant for all rows inside the tile loop and precedes them.
bool Linearizer::is_ahead(const LazyOp& reduce, const LanePlan& plan) const {
  bool ahead = false;
  for (std::size_t axis = plan.outer; axis < plan.axis; ++axis) {
    if (kernel_->shape()[axis] == sint(1)) continue;
    if (!same_along(still_[&reduce], kernel_->shape(), axis)) return false;
    ahead = true;
  }
  return ahead;
}

// Computes a reduce with one lane per output of the tile: one accumulator per row of the block, or
// a single one if constant over the rows.
void Linearizer::reduce_in_lanes(const LazyOp& reduce, const LanePlan& plan,
                                 std::vector<Indices> rows, Node base) {
  if (is_still(still_[&reduce], plan.block_axis)) rows.resize(1);
  if (const LazyOp* const same = same_in_lanes(reduce, rows[0])) {
    in_lanes_[&reduce] = in_lanes_.at(same);
    return;
  }
  std::vector<int>& accumulators = in_lanes_[&reduce];
  if (reduces_nothing(reduce)) return;
  const DType type = reduce.reduce_arg().accumulator;
  for (std::size_t row = 0; row < rows.size(); ++row)
    accumulators.push_back(define_accumulator(reduce, static_cast<int>(plan.lanes)));
  const std::size_t apart = written_out(reduce);
  const auto [loops, indices] = open_reduce_loops(reduce, rows[0], apart);
  std::vector<Indices> terms(rows.size(), indices);
  for (std::size_t row = 1; row < rows.size(); ++row)
    terms[row][plan.block_axis] = rows[row][plan.block_axis];
  if (apart > 0) terms = terms_of(reduce, apart, terms);
  const std::vector<int> inner = open_lanes(plan, terms, base);
  const int lane = builder_.innermost_loop();
  const std::vector<const LazyOp*> below = ordered_nodes(reduce.src()[0]);
  for (const LazyOp* node : below)
    if (in_lanes_.contains(node) && (reduced_axes(reduce) & ~still_[node]) == 0)
      take_from_lanes(*node, inner);
  if (plan_.staged_bytes > 0 && !is_ahead(reduce, plan))
    stage_parts(reduce, plan, builder_.open_loops() - 1 - loops, inner, base);
  std::vector<int> sums(rows.size(), -1);
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const std::size_t row = i % rows.size();
    for (const LazyOpPtr& part : parts_of(reduce)) evaluate(part.get(), inner[i]);
    if (i < rows.size())
      sums[row] = builder_.here({StepKind::LoadAcc, type, {accumulators[row], lane}, {}});
    sums[row] = add_term(reduce, sums[row], inner[i]);
    if (i + rows.size() >= inner.size())
      builder_.here({StepKind::Assign, type, {accumulators[row], sums[row], lane}, {}});
  }
  for (int i = 0; i < loops + 1; ++i) builder_.close_loop();
}

// An equal reduce in lanes at these indices; null if there is none yet.
const LazyOp* Linearizer::same_in_lanes(const LazyOp& reduce, const Indices& at) {
  const Indices loops = loops_of(reduce, add_indices(at));
  auto& known = lane_results_[compact_of(reduce).node];
  const auto same = std::ranges::find(known, loops, &std::pair<Indices, const LazyOp*>::first);
  if (same != known.end()) return same->second;
  known.emplace_back(loops, &reduce);
  return nullptr;
}

// Loads a reduce's values in the lanes of the innermost loop for the index sets of all rows; may be
// called repeatedly.
void Linearizer::take_from_lanes(const LazyOp& reduce, const std::vector<int>& at) {
  const DType type = reduce.reduce_arg().accumulator;
  const std::vector<int>& accumulators = in_lanes_.at(&reduce);
  std::vector<int> values;
  for (const int accumulator : accumulators)
    values.push_back(
        cast(builder_.here({StepKind::LoadAcc, type, {accumulator, builder_.innermost_loop()}, {}}),
             reduce.dtype()));
  if (values.empty()) values.push_back(reduce_of_nothing(reduce));
  for (std::size_t i = 0; i < at.size(); ++i) {
    set_made(&reduce, at[i], values[i % values.size()]);
    if (finds_results_) add_result(reduce, at[i], values[i % values.size()]);
  }
}

// The rows at each term along the last axes of a reduce, in term order.
std::vector<Linearizer::Indices> Linearizer::terms_of(const LazyOp& reduce, std::size_t axes,
                                                      const std::vector<Indices>& rows) {
  const Shape& shape = reduce.src()[0]->shape();
  std::vector<Indices> all = rows;
  for (std::size_t i = 0; i < axes; ++i) {
    const auto at =
        static_cast<std::size_t>(reduce.reduce_arg().axes.rbegin()[static_cast<std::ptrdiff_t>(i)]);
    const std::vector<Indices> inner = std::move(all);
    all.clear();
    for (std::int64_t term = 0; term < shape[at].as_int(); ++term)
      for (Indices indices : inner) {
        indices[at] = Node(term);
        all.push_back(std::move(indices));
      }
  }
  return all;
}

}  // namespace touchstone::codegen
