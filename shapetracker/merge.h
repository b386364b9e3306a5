#pragma once

#include <span>

#include "touchstone/shapetracker/view.h"

namespace touchstone::shapetracker {

enum class MergeAnswer : std::uint8_t {
  Merged,      // `view` says exactly what the stack says
  NoSuchView,  // proved: no single view does
  OverBudget,  // not decided within the node budget
};

struct MergeResult {
  MergeAnswer answer;
  std::optional<View> view;
  int nodes = 0;  // boxes of indices looked at
};

inline constexpr int kMergeNodes = 2000;

/// The single view that equals a stack of concrete views (innermost first, at least one), or the
/// proof that there is none. The decision is exact unless the budget runs out; it is coNP-complete
/// in general, and ordinary stacks take a handful of nodes. Method: the outermost view's valid
/// indices are a box; on a box an address is affine iff every floor(k / weight) that matters is,
/// which one interval test settles; a box where it is not is split at that digit.
/// Throws ShapeError where a view can leave the one below it, or has variables.
MergeResult merge_stack(std::span<const View> views, int budget = kMergeNodes);

}  // namespace touchstone::shapetracker
