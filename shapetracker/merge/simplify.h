#pragma once

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// inner after outer as one view: outer's flat index is unravelled over inner's shape. nullopt if
/// no single view exists (exact within the budget of `merge_pair`), or, with variables, if none was
/// proved.
std::optional<View> merge(const View& inner, const View& outer);

/// An equivalent tracker with the fewest views found: runs of neighbours are merged into one view,
/// then three or more into two where possible. Budgets as in `reduce_stack`.
ShapeTracker simplify(const ShapeTracker& tracker);

/// Merges the runs of views that end at the outermost one: keeps a chain of movement operations
/// short at a fraction of the cost of `simplify`.
ShapeTracker merge_outermost(const ShapeTracker& tracker);

}  // namespace touchstone
