#pragma once

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// For each new axis, the old axes that form it, adjacent and in order.
using Contraction = std::vector<std::vector<int>>;

/// Groups adjacent old axes whose products are the new axes, all in order; nullopt if impossible:
/// (2,3,4) -> (6,4) is {{0,1},{2}}. Old axes of size 1 may leave groups empty; they join the next
/// group if there is one.
std::optional<Contraction> get_contraction(std::span<const sint> old_shape,
                                           std::span<const sint> new_shape);

/// The same if the new axes `reduce_axes` are reduced: each must consist of at least one old axis,
/// which can be reduced instead; an axis of size 1 takes one of size 1 from its neighbours. (4,1)
/// -> (4,1) with axis 1 reduced is {{0},{1}}; nullopt if some reduced axis gets none. Throws
/// ShapeError on an axis outside the new shape.
std::optional<Contraction> get_contraction_with_reduce(std::span<const sint> old_shape,
                                                       std::span<const sint> new_shape,
                                                       std::span<const int> reduce_axes);

}  // namespace touchstone
