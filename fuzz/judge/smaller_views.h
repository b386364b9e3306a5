#pragma once

#include <vector>

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone::fuzz {

/// A view of as many elements, with the same order of axes, turned and repeated where it is, over
/// as few elements of memory as that needs; of a stack, without the elements of each view that no
/// view above it sees, before the first of them and behind the last. As it is where it holds
/// variables.
ShapeTracker compacted(const ShapeTracker& st);

/// One view of a stack with another offset, strides or without its mask, where all still lies
/// inside. Numbers alone.
std::vector<ShapeTracker> simpler_views(const ShapeTracker& st);

}  // namespace touchstone::fuzz
