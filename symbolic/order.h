#pragma once

#include <compare>

#include "touchstone/symbolic/context.h"

namespace touchstone::symbolic {

/// The one order of nodes: by kind, then by structure, names before numbers. It depends on nothing
/// but the two expressions, so sorted sums are the same in every run and whatever was built before.
/// Looks at most a fixed number of levels down; deeper differences are told by structural hash.
std::strong_ordering compare(const Context& context, Id a, Id b);

}  // namespace touchstone::symbolic
