#pragma once

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

/// A group of axes, an unmasked or masked view of its own, under other sizes; nullopt where it
/// stays.
using ReshapeGroup = std::optional<View> (*)(const View& group, const Shape& shape);

/// The view under another shape of as many elements, group by group of neighbouring axes: the old
/// axes of a group hold what its new ones hold. nullopt where the bounds show no groups, a group
/// stays, or an axis of size 1 is masked by variables. view.nothing_valid() must be false.
std::optional<View> reshape_by_groups(const View& view, const Shape& shape, ReshapeGroup reshape);

/// A group whose strides continue each other, unmasked.
std::optional<View> reshape_row_major(const View& group, const Shape& shape);

}  // namespace touchstone::shapetracker
