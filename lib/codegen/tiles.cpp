#include "touchstone/codegen/tiles.h"

#include <algorithm>
#include <cstdlib>

#include "touchstone/ops/node_order.h"

namespace touchstone::codegen {

namespace {

constexpr std::size_t kMostCrosswise = 4;  // arrays of a kernel

// The axis along which the neighbours of a load lie side by side while they are apart along
// `column`; nullopt where there is none.
std::optional<std::size_t> row_of(const LazyOp& load, std::size_t column,
                                  const LayoutSizes& sizes) {
  const ShapeTracker& st = load.buffer().st;
  if (st.views().size() != 1 || st.views()[0].mask()) return std::nullopt;
  const View& view = st.views()[0];
  const auto stride = [&](std::size_t axis) {
    const sint& s = view.strides()[axis];
    return s.is_int() ? std::abs(s.as_int()) : 0;
  };
  if (stride(column) < sizes.least_crosswise) return std::nullopt;
  for (std::size_t axis = column; axis-- > 0;)
    if (stride(axis) == 1 && view.shape()[axis] != sint(1)) return axis;
  return std::nullopt;
}

// The largest divisor of an axis' size that is no more than a tile, and no less than a quarter.
std::int64_t part_of(const sint& size, std::int64_t tile) {
  if (!size.is_int() || size.as_int() < tile) return 0;
  for (std::int64_t part = tile; part >= std::max<std::int64_t>(tile / 4, 2); --part)
    if (size.as_int() % part == 0) return part;
  return 0;
}

}  // namespace

std::optional<TilePlan> plan_tiles(const LazyOpPtr& kernel, const LayoutSizes& sizes) {
  const Shape& shape = kernel->shape();
  std::size_t column = shape.size();
  while (column > 0 && shape[column - 1] == sint(1)) --column;
  if (column < 2) return std::nullopt;
  --column;
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

}  // namespace touchstone::codegen
