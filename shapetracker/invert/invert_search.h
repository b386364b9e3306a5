#pragma once

#include "touchstone/shapetracker/invert/invert_view.h"

namespace touchstone::shapetracker {

/// A view G, and what cuts it to [0, size), with addresses[G(y)] = y, or nullopt where the search
/// finds none in bounded time. addresses: of every flat index, -1 where padding; each y in
/// [0, size) occurs.
std::optional<Maps> find_inverse(const std::vector<std::int64_t>& addresses, std::int64_t size);

}  // namespace touchstone::shapetracker
