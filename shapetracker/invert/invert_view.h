#pragma once

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

/// A map of flat indices as views, the first one applied first.
using Maps = std::vector<View>;

/// Candidates for G with V(G(k)) = k, for `view` V, concrete with a valid point, and k in [0,
/// size), the addresses that V reads. Each is correct wherever it is valid; the caller checks for
/// which k that is.
std::vector<Maps> inverse_candidates(const View& view, std::int64_t size);

/// A view G, cut to [0, size), with addresses[G(y)] = y; nullopt if a bounded search finds none.
/// addresses: for every flat index, -1 for padding; each y in [0, size) occurs.
std::optional<Maps> find_inverse(const std::vector<std::int64_t>& addresses, std::int64_t size);

}  // namespace touchstone::shapetracker
