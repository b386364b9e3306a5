#pragma once

#include <compare>

#include "touchstone/symbolic/node/context.h"

namespace touchstone::symbolic {

/// compare where the keys of the two differ in nothing.
std::strong_ordering compare_parts(const Context& context, Id a, Id b);

/// The one order of nodes: by kind, then by structure, names before numbers. It depends on nothing
/// but the two expressions, so sorted sums are the same in every run and whatever was built before.
/// Looks at most a fixed number of levels down; deeper differences are told by structural hash.
inline std::strong_ordering compare(const Context& context, Id a, Id b) {
  if (a == b) return std::strong_ordering::equal;
  const std::uint64_t x = context.key(a), y = context.key(b);
  return x != y ? x <=> y : compare_parts(context, a, b);
}

}  // namespace touchstone::symbolic
