#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

/// The largest address that a valid point of a stack reads; nullopt where nothing is valid. Not
/// decided where the budget of boxes ran out.
struct Highest {
  bool decided;
  std::optional<std::int64_t> address;
};

/// views: concrete, innermost first, at least one, none able to leave the one below it. Method:
/// boxes of indices of the outermost view, the one with the largest bound first; the bound is the
/// range of each digit through view after view, and a box is halved until it is met by a point.
Highest highest_address(std::span<const View> views, int boxes = 20'000);

}  // namespace touchstone::shapetracker
