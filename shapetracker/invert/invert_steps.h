#pragma once

#include "touchstone/shapetracker/invert/invert_view.h"

namespace touchstone::shapetracker {

/// The map y -> table[y] as views; nullopt if that needs numbers beyond 64 bits. Evenly spaced
/// digits are split off first; the rest, a table that rises evenly except for jumps at t1, t2, ...,
/// is a sum of steps [y >= t]. A step is a digit of y + size - t, and one flat index holds all
/// these digits side by side. table: in [0, limit); unreachable values beyond it are taken modulo
/// limit.
std::optional<Maps> steps_of(const std::vector<std::int64_t>& table, std::int64_t limit);

/// The same a few steps at a time, carrying their sum along: up to 40 views; nullopt if that is not
/// enough.
std::optional<Maps> stages_of(const std::vector<std::int64_t>& table, std::int64_t limit);

}  // namespace touchstone::shapetracker
