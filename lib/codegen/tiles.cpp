#include "touchstone/codegen/tiles.h"

#include <algorithm>
#include <cstdlib>

#include "touchstone/codegen/lanes.h"
#include "touchstone/ops/node_order.h"

namespace touchstone::codegen {

namespace {

constexpr std::size_t kMostCrosswise = 4;  // arrays per kernel

// The stride along an axis, 0 if variable.
std::int64_t step(const View& view, std::size_t axis) {
  const sint& s = view.strides()[axis];
  return s.is_int() ? std::abs(s.as_int()) : 0;
}

bool is_one_view(const ShapeTracker& st) { return st.views().size() == 1 && !st.views()[0].mask(); }

// The axis along which a load is contiguous while it is strided along `column`; nullopt if there is
// none.
std::optional<std::size_t> row_of(const LazyOp& load, std::size_t column,
                                  const LayoutSizes& sizes) {
  const ShapeTracker& st = load.buffer().st;
  if (!is_one_view(st)) return std::nullopt;
  const View& view = st.views()[0];
  if (step(view, column) < sizes.least_crosswise) return std::nullopt;
  for (std::size_t axis = column; axis-- > 0;)
    if (step(view, axis) == 1 && view.shape()[axis] != sint(1)) return axis;
  return std::nullopt;
}

// The largest divisor of an axis size between a quarter tile and a tile.
std::int64_t part_of(const sint& size, std::int64_t tile) {
  if (!size.is_int() || size.as_int() < tile) return 0;
  for (std::int64_t part = tile; part >= std::max<std::int64_t>(tile / 4, 2); --part)
    if (size.as_int() % part == 0) return part;
  return 0;
}

}  // namespace

std::optional<TilePlan> plan_tiles(const LazyOpPtr& kernel, const LayoutSizes& sizes) {
  const Shape& shape = kernel->shape();
  const std::size_t column = last_axis(shape).value_or(0);
  if (column == 0) return std::nullopt;
  TilePlan plan;
  plan.column = column;
  for (const LazyOp* node : ordered_nodes(kernel)) {
    if (is_reduce(node->op())) return std::nullopt;
    if (node->op() != Op::Load) continue;
    const auto row = row_of(*node, column, sizes);
    if (!row || (!plan.crosswise.empty() && *row != plan.row)) continue;
    plan.row = *row;
    plan.crosswise.push_back(node);
    if (plan.crosswise.size() > kMostCrosswise) return std::nullopt;
  }
  if (plan.crosswise.empty()) return std::nullopt;
  plan.rows = part_of(shape[plan.row], sizes.tile);
  plan.columns = part_of(shape[column], sizes.tile);
  if (plan.rows == 0 || plan.columns == 0) return std::nullopt;
  return plan;
}

TilePlan tiles_of(const LazyOpPtr& kernel, std::size_t row, std::size_t column, std::int64_t rows,
                  std::int64_t columns) {
  TilePlan plan;
  plan.row = row;
  plan.column = column;
  plan.rows = rows;
  plan.columns = columns;
  for (const LazyOp* node : ordered_nodes(kernel)) {
    if (node->op() != Op::Load || !is_one_view(node->buffer().st)) continue;
    const View& view = node->buffer().st.views()[0];
    if (step(view, row) == 1 && step(view, column) > 1 && plan.crosswise.size() < kMostCrosswise)
      plan.crosswise.push_back(node);
  }
  return plan;
}

}  // namespace touchstone::codegen
