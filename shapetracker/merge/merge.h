#pragma once

#include <memory>
#include <span>

#include "touchstone/shapetracker/limits.h"
#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

enum class MergeAnswer : std::uint8_t {
  Merged,      // `view` says exactly what the stack says
  NoSuchView,  // proved: no single view does
  OverBudget,  // not decided within the budget
};

/// How long to look. Ordinary pairs take a handful of boxes; the decision is coNP-complete.
struct MergeBudget {
  int nodes = Limits::kBoxes;  // boxes of indices to look at
  /// Then, for a pair: sets of flat indices as bits, where the inner view has at most this many
  /// elements. Pseudo-polynomial and complete; 10^8 elements take about a second.
  std::int64_t bits = Limits::kBits;
  /// Or, for a pair: flat indices in two lists of at most this length, one for half the axes each,
  /// where only a valid point is hard to find. 2^(n/2) steps for n axes of size 2.
  std::int64_t sums = Limits::kSums;
  int last_nodes = Limits::kLastBoxes;  // boxes to look at where none of all these would do
  /// Before that, for any stack: every point of the outermost view, where it has at most this many.
  /// 2^22 take about half a second.
  std::int64_t points = Limits::kPoints;
};

struct Explanation;

struct MergeResult {
  MergeAnswer answer;
  std::optional<View> view;
  int nodes = 0;           // boxes of indices looked at
  bool by_bits = false;    // decided by sets of bits
  bool by_sums = false;    // or by lists of sums
  bool by_points = false;  // or point by point
  /// Why, where boxes did not settle it: what took long need not be done again to explain it.
  std::shared_ptr<const Explanation> explanation = {};

  /// It took more than the boxes of a budget.
  bool was_hard() const { return explanation != nullptr || answer == MergeAnswer::OverBudget; }
};

/// The single view that equals a stack of concrete views (innermost first, at least one), or the
/// proof that there is none. The decision is exact unless the budget runs out, or addresses of the
/// innermost view lie 2^63 or more apart; then it is OverBudget. Method: the outermost view's valid
/// indices are a box; on a box an address is affine iff every floor(k / weight) that matters is,
/// which one interval test settles; a box where it is not is split at that digit.
/// Throws ShapeError where a view can leave the one below it, or has variables.
MergeResult merge_stack(std::span<const View> views, const MergeBudget& budget = {});

/// `merge` of two concrete views within a budget.
MergeResult merge_pair(const View& inner, const View& outer, const MergeBudget& budget = {});

}  // namespace touchstone::shapetracker
