#pragma once

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

/// A map of flat indices as views, the one applied first in front.
using Maps = std::vector<View>;

/// Candidates for G with V(G(k)) = k, where V is `view`, concrete with a valid point, and k in
/// [0, size) runs over the addresses that V reads. Each is right wherever it is valid; which k that
/// are is left to the caller.
std::vector<Maps> inverse_candidates(const View& view, std::int64_t size);

}  // namespace touchstone::shapetracker
