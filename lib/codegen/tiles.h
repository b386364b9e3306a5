#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "touchstone/codegen/linearize.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::codegen {

/// Tiles over two axes for a kernel without reduces that reads a buffer transposed against its
/// writes, so that each cache line is used fully while cached.
struct TilePlan {
  std::size_t row = 0, column = 0;       // output axes; the column is the last one of size > 1
  std::int64_t rows = 1, columns = 1;    // of a tile; must divide the axis sizes
  std::vector<const LazyOp*> crosswise;  // loads first copied into an array
  std::int64_t ahead = 0;                // prefetch distance in tiles along the columns; 0: none
};

/// nullopt if no load is transposed, or no tile divides the axes.
std::optional<TilePlan> plan_tiles(const LazyOpPtr& kernel, const LayoutSizes& sizes);

/// Tiles of these sizes, which must divide the axes, for a kernel without reduces; copies some of
/// the loads transposed against them.
TilePlan tiles_of(const LazyOpPtr& kernel, std::size_t row, std::size_t column, std::int64_t rows,
                  std::int64_t columns);

}  // namespace touchstone::codegen
