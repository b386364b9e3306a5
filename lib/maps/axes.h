#pragma once

#include <algorithm>

#include "touchstone/maps/map.h"

// A map as sums of digits of its inputs, each times a stride; and exact questions about such sums.

namespace touchstone::maps {

/// The digit (input // place) % size moves result r by strides[r]. Without a size it is not
/// bounded.
struct Axis {
  std::size_t input = 0;
  std::int64_t place = 1;
  std::optional<sint> size;
  std::vector<sint> strides;
  /// It moves no result.
  bool still() const {
    return std::ranges::all_of(strides, [](const sint& s) { return s == sint(0); });
  }
};

struct Axes {
  std::vector<Axis> axes;    // input by input, each from its lowest place
  std::vector<sint> offset;  // of each result
  bool whole = true;         // every combination of digits is a point
  bool is_numeric() const;
  /// The least and the largest value of a result; nullopt with symbols, open sizes, or beyond 64
  /// bits.
  std::optional<std::pair<std::int64_t, std::int64_t>> reach(std::size_t result) const;
  /// The input values at these digits.
  std::vector<std::int64_t> point(std::span<const std::int64_t> digits, std::size_t inputs) const;
};

/// The form of a map with inputs from 0 and no conditions left; nullopt if its expressions do not
/// show it.
std::optional<Axes> axes_of(const Map& map);
/// The same found by values, and tried at every point: for maps with up to `kMostProbed` points.
inline constexpr std::int64_t kMostProbed = 1 << 16;
std::optional<Axes> probed_axes(const Map& map);
/// Neighbours that continue each other are joined, across inputs too if `all`; size 1 is dropped.
Axes joined(Axes axes, bool all);

/// A term of an equation: an unknown from lo to hi.
struct Unknown {
  std::int64_t factor, lo, hi;
};
struct Solution {
  bool decided = false;
  std::optional<std::vector<std::int64_t>> values;  // none: there is no solution
};
/// Integers with sum factor * x == target; not all 0 if `not_all_zero`. Open after a limited
/// search.
Solution solve(const std::vector<Unknown>& unknowns, std::int64_t target, bool not_all_zero);

/// A result determines these axes once the axes of earlier steps are known. They are sorted by
/// stride, and each stride exceeds the sum that the axes before it can reach.
struct DecodeStep {
  std::size_t result;
  std::vector<std::size_t> axes;
};
/// Steps that determine every axis of more than one value: the map is injective. nullopt if there
/// are none; it may be injective all the same. Axes that move nothing are skipped if `skip_still`.
std::optional<std::vector<DecodeStep>> decoding(const Axes& axes, bool skip_still = false);
/// |stride|, and whether it is negative; nullopt if the sign is unknown.
std::optional<std::pair<sint, bool>> magnitude(const sint& stride);
/// One number for each axis that tells apart the differences of points as its strides do together;
/// nullopt beyond 62 bits or with symbols.
std::optional<std::vector<Unknown>> packed_differences(const Axes& axes);

}  // namespace touchstone::maps
