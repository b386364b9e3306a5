#pragma once

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// For each new axis the old axes that it is made of, neighbours in order.
using Contraction = std::vector<std::vector<int>>;

/// Groups of neighbouring old axes whose products make each new axis, all old axes in order, or
/// nullopt: (2,3,4) -> (6,4) is {{0,1},{2}}. Axes of size 1 may give empty groups, and stand in the
/// group after them where there is one.
std::optional<Contraction> get_contraction(std::span<const sint> old_shape,
                                           std::span<const sint> new_shape);

/// The same where the new axes `reduce_axes` are reduced: each of them is made of at least one old
/// axis, which can be reduced in its place; an axis of size 1 takes one of size 1 from its
/// neighbours. (4,1) -> (4,1) with axis 1 reduced is {{0},{1}}; nullopt where some reduced axis can
/// have none. Throws ShapeError on an axis outside the new shape.
std::optional<Contraction> get_contraction_with_reduce(std::span<const sint> old_shape,
                                                       std::span<const sint> new_shape,
                                                       std::span<const int> reduce_axes);

}  // namespace touchstone
