#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "touchstone/codegen/linearize.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::codegen {

/// A kernel without reduces that reads a buffer across the order in which it writes: in tiles of
/// two axes each line of the cache is used up while it is there.
struct TilePlan {
  std::size_t row = 0, column = 0;       // axes of the output; the column is the last with a size
  std::int64_t rows = 1, columns = 1;    // of a tile; they divide the sizes of the axes
  std::vector<const LazyOp*> crosswise;  // loads that are copied into an array first
  std::int64_t ahead = 0;                // tiles along the columns that are asked for; 0: none
};

/// nullopt where no load lies so, or no tile divides the axes.
std::optional<TilePlan> plan_tiles(const LazyOpPtr& kernel, const LayoutSizes& sizes);

/// Tiles of these sizes, which divide the axes, of a kernel without reduces; some loads that lie
/// across them are copied.
TilePlan tiles_of(const LazyOpPtr& kernel, std::size_t row, std::size_t column, std::int64_t rows,
                  std::int64_t columns);

}  // namespace touchstone::codegen
