#pragma once

#include "touchstone/shapetracker/limits.h"
#include "touchstone/shapetracker/merge/merge_search.h"

namespace touchstone::shapetracker {

/// Whether two stacks say the same at every index.
struct Comparison {
  MergeSearch::Truth same;              // Unknown where the budget runs out
  std::vector<std::int64_t> different;  // No: an index at which they differ
  std::int64_t work = 0;                // boxes and elements that were looked at
};

/// a, b: stacks of concrete views, innermost first, each with a valid point, the outermost of one
/// shape. Some elements are looked at first. Where the outermost views differ by a factor and an
/// offset, the rest is compared along the flat index they have in common. Else boxes of indices, up
/// to `nodes`, are split until each stack is affine or padding on all of one. Beyond them, where
/// the shape has up to `points` elements, each is looked at.
Comparison compare_maps(std::span<const View> a, std::span<const View> b,
                        int nodes = Limits::kCompareBoxes,
                        std::int64_t points = Limits::kCompareElements);

}  // namespace touchstone::shapetracker
