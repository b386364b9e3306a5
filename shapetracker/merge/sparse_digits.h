#pragma once

#include <functional>

#include "touchstone/shapetracker/merge/recover_digits.h"

namespace touchstone::shapetracker {

/// A map of positions [0, size) too many to be read one by one, of which `start` reads an address.
struct LongMap {
  std::function<Entry(std::int64_t)> at;
  std::int64_t size, start;
};

/// Digits of a long map, as recover_digits finds them in a window of a few hundred positions: those
/// of which the window shows several turns are taken off, and the turns are a shorter map, read the
/// same way. A digit longer than the window is measured by looking for the ends of its even steps.
/// Positions that are not read are taken to continue: compare the result with the map. nullopt
/// where a window has no digits.
std::optional<PositionDigits> recover_sparse_digits(const LongMap& map);

}  // namespace touchstone::shapetracker
