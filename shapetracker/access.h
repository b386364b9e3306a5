#pragma once

#include "touchstone/view/shapetracker.h"

namespace touchstone {

/// Stride of the address along each axis where the address is that stride times the index plus
/// something free of the index; 0 where the axis does not occur; nullopt where it occurs under a
/// division, modulo or (unless ignore_valid) in the validity.
std::vector<std::optional<sint>> real_strides(const ShapeTracker& tracker,
                                              bool ignore_valid = false);
/// The axes along which neighbours are neighbours in memory, whatever is valid.
std::vector<int> unit_stride_axes(const ShapeTracker& tracker);
/// Whether the validity depends on the index of the axis. Throws ShapeError on a bad axis.
bool axis_is_masked(const ShapeTracker& tracker, int axis);

}  // namespace touchstone
