#pragma once

#include <functional>

#include "touchstone/shapetracker/merge/recover_digits.h"

namespace touchstone::shapetracker {

/// A map of positions [0, size) too many to read one by one; `start` reads an address.
struct LongMap {
  std::function<Entry(std::int64_t)> at;
  std::int64_t size, start;
};

/// Digits of a long map, found by recover_digits in windows of a few hundred positions: digits with
/// several periods in the window are split off, and the periods form a shorter map, read the same
/// way. A digit longer than the window is measured by searching for the ends of its even steps.
/// Unread positions are assumed to continue: compare the result with the map. nullopt if a window
/// has no digits.
std::optional<PositionDigits> recover_sparse_digits(const LongMap& map);

}  // namespace touchstone::shapetracker
