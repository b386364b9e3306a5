#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace touchstone::symbolic::lattice {

/// A set of members by index. `maximum` takes up to 20 at once and nested choices add fewer than
/// ten, so 64 bits suffice; `member_of` rejects a member without a bit.
using Bits = std::uint64_t;

inline int place(Bits set) { return std::countr_zero(set); }

inline Bits bit(std::size_t i) { return Bits{1} << i; }

/// Calls `use(i)` for every member i of the set, lowest first.
template <class Use>
void each(Bits set, const Use& use) {
  for (; set != 0; set &= set - 1) use(static_cast<std::size_t>(place(set)));
}

}  // namespace touchstone::symbolic::lattice
