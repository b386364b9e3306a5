#pragma once

#include <vector>

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone::fuzz {

/// The view with the same shape, order of axes, reversals and repetitions, but over as few elements
/// of memory as possible; in a stack, also drops the elements of each view before the first and
/// after the last one visible from above. Unchanged if it holds variables.
ShapeTracker compacted(const ShapeTracker& st);

/// Stacks with one view simplified: another offset, other strides or no mask, with everything still
/// in range. Numbers only.
std::vector<ShapeTracker> simpler_views(const ShapeTracker& st);

}  // namespace touchstone::fuzz
