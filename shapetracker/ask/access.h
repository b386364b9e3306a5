#pragma once

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// Stride of the address along each axis where the address is that stride times the index plus
/// something free of the index; 0 where the axis does not occur; nullopt where it occurs under a
/// division, modulo or (unless ignore_valid) in the validity.
std::vector<std::optional<sint>> real_strides(const ShapeTracker& tracker,
                                              bool ignore_valid = false);
/// The address that the expression of the simplified tracker has where every index is 0, whether
/// or not that is valid: what the address is, beyond the sum of real strides times indices, where
/// all of these are known (ignore_valid). 0 where nothing is valid.
sint real_offset(const ShapeTracker& tracker);
/// The axes along which neighbours are neighbours in memory, whatever is valid.
std::vector<int> unit_stride_axes(const ShapeTracker& tracker);
/// Whether the validity depends on the index of the axis. Throws ShapeError on a bad axis.
bool axis_is_masked(const ShapeTracker& tracker, int axis);

}  // namespace touchstone
