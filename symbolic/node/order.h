#pragma once

#include <compare>

#include "touchstone/symbolic/node/context.h"

namespace touchstone::symbolic {

/// `compare` for nodes with equal keys.
std::strong_ordering compare_parts(const Context& context, Id a, Id b);

/// The total order of nodes: by kind, then by structure, names before numbers. It depends only on
/// the two expressions, so sorted sums are the same in every run. Compares a fixed number of
/// levels; deeper differences are ordered by structural hash.
inline std::strong_ordering compare(const Context& context, Id a, Id b) {
  if (a == b) return std::strong_ordering::equal;
  const std::uint64_t x = context.key(a), y = context.key(b);
  return x != y ? x <=> y : compare_parts(context, a, b);
}

}  // namespace touchstone::symbolic
