#pragma once

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// The stride along each axis if the address is that stride times the index plus a term without the
/// index; 0 if the axis does not occur; nullopt if it occurs under a division or modulo or (unless
/// ignore_valid) in the validity.
std::vector<std::optional<sint>> real_strides(const ShapeTracker& tracker,
                                              bool ignore_valid = false);
/// The address of the simplified tracker's expression at index 0 of every axis, valid or not: the
/// address minus the sum of real strides times indices, if all of those are known (ignore_valid). 0
/// if nothing is valid.
sint real_offset(const ShapeTracker& tracker);
/// The axes with real stride 1, except those in the validity.
std::vector<int> unit_stride_axes(const ShapeTracker& tracker);
/// True if the validity depends on the index of the axis. Throws ShapeError on a bad axis.
bool axis_is_masked(const ShapeTracker& tracker, int axis);

}  // namespace touchstone
