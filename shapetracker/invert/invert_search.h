#pragma once

#include "touchstone/shapetracker/invert/invert_view.h"

namespace touchstone::shapetracker {

/// A view G, cut to [0, size), with addresses[G(y)] = y; nullopt if a bounded search finds none.
/// addresses: for every flat index, -1 for padding; each y in [0, size) occurs.
std::optional<Maps> find_inverse(const std::vector<std::int64_t>& addresses, std::int64_t size);

}  // namespace touchstone::shapetracker
