#pragma once

#include <memory>
#include <span>

#include "touchstone/shapetracker/limits.h"
#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

enum class MergeAnswer : std::uint8_t {
  Merged,      // `view` is equivalent to the stack
  NoSuchView,  // proved: no single view is
  OverBudget,  // undecided within the budget
};

/// Search budget. Ordinary pairs take a few boxes; the problem is coNP-complete.
struct MergeBudget {
  int nodes = Limits::kBoxes;  // boxes of indices to examine
  /// Next, for a pair: bit sets of flat indices, if the inner view has at most this many elements.
  /// Pseudo-polynomial and complete; 10^8 elements take about a second.
  std::int64_t bits = Limits::kBits;
  /// Or, for a pair: two lists of flat indices of at most this length, one for each half of the
  /// axes, if only a valid point is hard to find. 2^(n/2) steps for n axes of size 2.
  std::int64_t sums = Limits::kSums;
  int last_nodes = Limits::kLastBoxes;  // boxes to examine if no other method applies
  /// Before that, for any stack: every point of the outermost view, if it has at most this many.
  /// 2^22 take about half a second.
  std::int64_t points = Limits::kPoints;
};

struct Explanation;

struct MergeResult {
  MergeAnswer answer;
  std::optional<View> view;
  int nodes = 0;           // boxes examined
  bool by_bits = false;    // decided by bit sets
  bool by_sums = false;    // decided by lists of sums
  bool by_points = false;  // decided point by point
  /// Set if boxes did not suffice: explaining need not repeat the expensive search.
  std::shared_ptr<const Explanation> explanation = {};

  /// True if the merge needed more than the box budget.
  bool was_hard() const { return explanation != nullptr || answer == MergeAnswer::OverBudget; }
};

/// The single view equal to a stack of concrete views (innermost first, at least one), or a proof
/// that there is none. Exact, except OverBudget if the budget runs out or addresses of the
/// innermost view are 2^63 or more apart. Method: the outermost view's valid indices are a box; on
/// a box an address is affine iff every relevant floor(k / weight) is, which one interval test
/// decides; otherwise the box is split at that digit.
/// Throws ShapeError if a view can leave the one below it or has variables.
MergeResult merge_stack(std::span<const View> views, const MergeBudget& budget = {});

/// `merge` of two concrete views within a budget.
MergeResult merge_pair(const View& inner, const View& outer, const MergeBudget& budget = {});

}  // namespace touchstone::shapetracker
