#pragma once

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// inner after outer as one view: outer's flat index is unravelled over inner's shape. nullopt
/// where no one view says it, which is exact within the budget of `merge_pair`; with variables,
/// where none was proved.
std::optional<View> merge(const View& inner, const View& outer);

/// The fewest views found that say the same: runs of neighbours that are one view become it, then
/// three or more become two where two were found. Budgets are those of `reduce_stack`.
ShapeTracker simplify(const ShapeTracker& tracker);

/// The tracker with the runs of views that end at its outermost one merged: what a chain of
/// movement operations needs after each of them to stay short, at a fraction of `simplify`.
ShapeTracker merge_outermost(const ShapeTracker& tracker);

}  // namespace touchstone
