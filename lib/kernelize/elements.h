#pragma once

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// The maximum number of elements of a shape over all values of its variables. Throws ShapeError if
/// a size has no bound.
std::int64_t max_elements(const Shape& shape);

namespace kernelize {

/// The maximum number of elements inside a view's mask; all of them if there is none.
std::int64_t unmasked_elements(const View& view);

/// True if a view of so many elements repeats some of them: padding is never computed and does not
/// count.
bool grows(std::int64_t elements, const ShapeTracker& st);

}  // namespace kernelize

}  // namespace touchstone
