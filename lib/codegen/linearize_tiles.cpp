// Kernels without reduces, in tiles of two axes.
#include "touchstone/codegen/linearizer.h"
#include "touchstone/ops/node_order.h"

namespace touchstone::codegen {

using symbolic::Node;

LinearKernel Linearizer::store_in_tiles(const TilePlan& plan) {
  Indices tile(kernel_->shape().size(), Node(0));
  std::vector<int> loops;
  for (std::size_t axis = 0; axis < tile.size(); ++axis) {
    if (axis == plan.row || axis == plan.column) continue;
    const std::vector<int> own = open_output_loops(tile, axis, axis + 1);
    loops.insert(loops.end(), own.begin(), own.end());
  }
  const auto open_tiles_of = [&](std::size_t axis, std::int64_t size) {
    const std::int64_t tiles = kernel_->shape()[axis].as_int() / size;
    Node number = 0;
    if (tiles > 1) loops.push_back(open_loop(tiles, "i", number));
    tile[axis] = number * Node(size);
  };
  open_tiles_of(plan.row, plan.rows);
  open_tiles_of(plan.column, plan.columns);
  std::vector<int> arrays;
  for (const LazyOp* load : plan.crosswise) arrays.push_back(copy_tile(*load, plan, tile));
  Node row, column;
  open_loop(plan.rows, "t", row);
  for (const LazyOp* load : alongside(plan))
    ask_ahead(*load, plan, tile, row, Node(0), plan.column);
  open_loop(plan.columns, "t", column);
  const auto [at, place] = place_in_tile(plan, tile, row, column);
  for (std::size_t i = 0; i < arrays.size(); ++i)
    set_made(
        plan.crosswise[i], at,
        builder_.value({StepKind::LoadAcc, plan.crosswise[i]->dtype(), {arrays[i], place}, {}}));
  write(at);
  while (builder_.inside_loop()) builder_.close_loop();
  return builder_.finish(split_of(loops, loops.empty() ? -1 : loops[0]));
}

// The indices of an element of a tile, and its position in the tile's array.
std::pair<int, int> Linearizer::place_in_tile(const TilePlan& plan, Indices tile, Node row,
                                              Node column) {
  tile[plan.row] = tile[plan.row] + row;
  tile[plan.column] = tile[plan.column] + column;
  const int at = add_indices(std::move(tile));
  return {at, lower(column * Node(plan.rows) + row, at)};
}

bool lies_along(const LazyOp& node, std::size_t axis) {
  if (node.op() != Op::Load) return false;
  const std::vector<View>& views = node.buffer().st.views();
  return views.size() == 1 && !views[0].mask() && views[0].strides()[axis] == sint(1);
}

// The loads that are contiguous along the columns.
std::vector<const LazyOp*> Linearizer::alongside(const TilePlan& plan) const {
  std::vector<const LazyOp*> loads;
  for (const LazyOp* node : ordered_nodes(plan_.kernel)) {
    if (plan.ahead > 0 && lies_along(*node, plan.column)) loads.push_back(node);
  }
  return loads;
}

// Prefetches a load's cache lines along an axis, starting at an element of a later tile.
void Linearizer::ask_ahead(const LazyOp& load, const TilePlan& plan, Indices tile, const Node& row,
                           const Node& column, std::size_t axis) {
  constexpr std::int64_t kLine = 64;
  if (plan.ahead == 0) return;
  tile[plan.row] = tile[plan.row] + row;
  tile[plan.column] = tile[plan.column] + column + Node(plan.ahead * plan.columns);
  const std::int64_t size = axis == plan.row ? plan.rows : plan.columns,
                     step = kLine / static_cast<std::int64_t>(itemsize(load.dtype()));
  const Node first = tile[axis];
  for (std::int64_t i = 0; i < size; i += step) {
    tile[axis] = first + Node(i);
    ask_for(load, tile, 2);  // lines a power of 2 apart displace each other in the first level
  }
}

void Linearizer::ask_for(const LazyOp& load, const Indices& element, int level) {
  const int at = add_indices(element);
  const int index = lower(address(load.buffer().st, at).index, at);
  builder_.here(
      {StepKind::Prefetch, load.dtype(), {global(load.buffer().idx, load.dtype()), index}, level});
}

// Copies what a load reads in a tile, column by column in memory order; returns the array.
int Linearizer::copy_tile(const LazyOp& load, const TilePlan& plan, const Indices& tile) {
  const DType type = load.dtype();
  const int array =
      builder_.here({StepKind::DefineAcc, type, {}, static_cast<int>(plan.rows * plan.columns)});
  Node row, column;
  open_loop(plan.columns, "s", column);
  ask_ahead(load, plan, tile, Node(0), column, plan.row);
  open_loop(plan.rows, "s", row);
  const auto [at, place] = place_in_tile(plan, tile, row, column);
  const int value = evaluate(&load, at);
  builder_.here({StepKind::Assign, type, {array, value, place}, {}});
  builder_.close_loop();
  builder_.close_loop();
  return array;
}

}  // namespace touchstone::codegen
