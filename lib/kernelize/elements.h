#pragma once

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// The maximum number of elements of a shape over all values of its variables. Throws ShapeError if
/// a size has no bound.
std::int64_t max_elements(const Shape& shape);

/// True if a size is 0.
bool has_no_elements(const Shape& shape);

/// The mask of a shape that keeps all elements.
Mask whole_mask(const Shape& shape);
/// The mask that keeps part `i` of `count` equal ones along an axis.
Mask part_mask(const Shape& shape, int axis, const sint& i, std::size_t count);

namespace kernelize {

/// The maximum number of elements inside a view's mask; all of them if there is none.
std::int64_t unmasked_elements(const View& view);

/// True if a view of so many elements repeats some of them: padding is never computed and does not
/// count.
bool grows(std::int64_t elements, const ShapeTracker& st);

}  // namespace kernelize

}  // namespace touchstone
