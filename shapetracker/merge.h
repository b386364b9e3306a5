#pragma once

#include <span>

#include "touchstone/shapetracker/view.h"

namespace touchstone::shapetracker {

enum class MergeAnswer : std::uint8_t {
  Merged,      // `view` says exactly what the stack says
  NoSuchView,  // proved: no single view does
  OverBudget,  // not decided within the budget
};

/// How long to look. Ordinary pairs take a handful of boxes; the decision is coNP-complete.
struct MergeBudget {
  int nodes = 2000;  // boxes of indices to look at
  /// Then, for a pair: sets of flat indices as bits, where the inner view has at most this many
  /// elements. Pseudo-polynomial and complete; 10^8 elements take about a second.
  std::int64_t bits = 100'000'000;
  int last_nodes = 100'000;  // boxes to look at where no set of bits would do
};

struct MergeResult {
  MergeAnswer answer;
  std::optional<View> view;
  int nodes = 0;         // boxes of indices looked at
  bool by_bits = false;  // decided by sets of bits
};

/// The single view that equals a stack of concrete views (innermost first, at least one), or the
/// proof that there is none. The decision is exact unless the budget runs out, or addresses of the
/// innermost view lie 2^63 or more apart; then it is OverBudget. Method: the outermost view's valid
/// indices are a box; on a box an address is affine iff every floor(k / weight) that matters is,
/// which one interval test settles; a box where it is not is split at that digit.
/// Throws ShapeError where a view can leave the one below it, or has variables.
MergeResult merge_stack(std::span<const View> views, const MergeBudget& budget = {});

/// The largest address that a valid point of the stack reads, as merge_stack takes it; nullopt
/// where nothing is valid. Decided is false where the budget of boxes runs out.
struct Highest {
  bool decided;
  std::optional<std::int64_t> address;
};
Highest highest_address(std::span<const View> views, int nodes = 20'000);

}  // namespace touchstone::shapetracker
