#pragma once

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

/// A map of flat indices as views, the first one applied first.
using Maps = std::vector<View>;

/// Candidates for G with V(G(k)) = k, for `view` V, concrete with a valid point, and k in [0,
/// size), the addresses that V reads. Each is correct wherever it is valid; the caller checks for
/// which k that is.
std::vector<Maps> inverse_candidates(const View& view, std::int64_t size);

}  // namespace touchstone::shapetracker
