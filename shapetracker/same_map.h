#pragma once

#include "touchstone/shapetracker/merge_search.h"

namespace touchstone::shapetracker {

/// Whether two stacks say the same at every index.
struct Comparison {
  MergeSearch::Truth same;              // Unknown where the budget runs out
  std::vector<std::int64_t> different;  // No: an index at which they differ
};

/// a, b: stacks of concrete views, innermost first, each with a valid point, the outermost of one
/// shape. Exact within `nodes` boxes of indices: the boxes are split until each stack is affine or
/// padding on all of one. Beyond them, where the shape has up to `points` elements, each is looked
/// at.
Comparison compare_maps(std::span<const View> a, std::span<const View> b, int nodes = 2000,
                        std::int64_t points = 1 << 22);

}  // namespace touchstone::shapetracker
