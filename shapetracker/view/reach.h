#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

/// The largest address read by a valid point of a stack; nullopt if nothing is valid. Undecided if
/// the box budget ran out.
struct Highest {
  bool decided;
  std::optional<std::int64_t> address;
};

/// views: concrete, innermost first, at least one, none able to leave the one below it. Method:
/// best-first search over boxes of indices of the outermost view by an upper bound from the range
/// of each digit through all views; a box is halved until a point attains its bound.
Highest highest_address(std::span<const View> views, int boxes = 20'000);

}  // namespace touchstone::shapetracker
