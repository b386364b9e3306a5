#pragma once

#include "touchstone/shapetracker/limits.h"
#include "touchstone/shapetracker/merge/merge_search.h"

namespace touchstone::shapetracker {

/// The result of comparing two stacks at every index.
struct Comparison {
  MergeSearch::Truth same;              // Unknown if the budget runs out
  std::vector<std::int64_t> different;  // No: an index where they differ
  std::int64_t work = 0;                // boxes and elements examined
};

/// a, b: stacks of concrete views, innermost first, each with a valid point, with outermost views
/// of one shape. Compares some elements first. If the outermost views differ by a factor and an
/// offset, the rest is compared along their common flat index; else up to `nodes` boxes of indices
/// are split until each stack is affine or padding on the whole box. Beyond that, a shape of up to
/// `points` elements is compared element by element.
Comparison compare_maps(std::span<const View> a, std::span<const View> b,
                        int nodes = Limits::kCompareBoxes,
                        std::int64_t points = Limits::kCompareElements);

}  // namespace touchstone::shapetracker
