#pragma once

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

/// Reshapes a group of axes as a view of its own; nullopt if impossible.
using ReshapeGroup = std::optional<View> (*)(const View& group, const Shape& shape);

/// Reshapes a view to a shape with as many elements, one group of adjacent axes at a time: the old
/// and new axes of a group have equal products. nullopt if the bounds show no groups, a group
/// cannot be reshaped, or an axis of size 1 is masked by variables. view.nothing_valid() must be
/// false.
std::optional<View> reshape_by_groups(const View& view, const Shape& shape, ReshapeGroup reshape);

/// Reshapes an unmasked group whose strides continue each other.
std::optional<View> reshape_row_major(const View& group, const Shape& shape);

}  // namespace touchstone::shapetracker
