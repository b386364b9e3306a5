#pragma once

#include "touchstone/shapetracker/invert/invert_view.h"

namespace touchstone::shapetracker {

/// The map y -> table[y] as views, or nullopt where that takes numbers beyond 64 bits. Evenly
/// spaced digits are taken off first; what is left, of a table that rises evenly but for jumps at
/// t1, t2, ...,
/// is a sum of steps [y >= t]. A step is a digit too, of y + size - t, and one flat index
/// holds all these digits side by side. table: in [0, limit); what is read beyond it, where no y
/// leads, is taken modulo limit.
std::optional<Maps> steps_of(const std::vector<std::int64_t>& table, std::int64_t limit);

/// The same a few steps at a time, what they add up to carried along: up to 40 views, or nullopt
/// where that is not enough.
std::optional<Maps> stages_of(const std::vector<std::int64_t>& table, std::int64_t limit);

}  // namespace touchstone::shapetracker
