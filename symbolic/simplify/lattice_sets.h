#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace touchstone::symbolic::lattice {

/// A set of members, by their places. `maximum` takes 20 at once, and what is nested adds fewer
/// than ten, so there is room for twice as many; `member_of` refuses one that would have no bit.
using Bits = std::uint64_t;

inline int place(Bits set) { return std::countr_zero(set); }

inline Bits bit(std::size_t i) { return Bits{1} << i; }

/// Runs `use(i)` for every member i of the set, lowest first.
template <class Use>
void each(Bits set, const Use& use) {
  for (; set != 0; set &= set - 1) use(static_cast<std::size_t>(place(set)));
}

}  // namespace touchstone::symbolic::lattice
