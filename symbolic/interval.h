#pragma once

#include <optional>

#include "touchstone/symbolic/integer.h"

namespace touchstone::symbolic {

/// All integers from lo to hi, inclusive; an absent end is open. Never empty.
struct Interval {
  std::optional<Int> lo, hi;

  static Interval point(const Int& value) { return {value, value}; }
  bool is_point() const { return lo && hi && *lo == *hi; }
  /// True where every member is >= value, or <= value.
  bool at_least(const Int& value) const { return lo && *lo >= value; }
  bool at_most(const Int& value) const { return hi && *hi <= value; }
  bool within(const Int& from, const Int& to) const { return at_least(from) && at_most(to); }
  bool operator==(const Interval&) const = default;
};

/// Every sum of a member of a and a member of b.
Interval operator+(const Interval& a, const Interval& b);
Interval operator*(const Interval& a, const Int& factor);
Interval operator*(const Interval& a, const Interval& b);
/// Floor quotients. d >= 1 for the number; the interval of divisors may hold 0, which is ignored.
Interval floor_div(const Interval& a, const Int& d);
Interval floor_div(const Interval& a, const Interval& d);
Interval floor_mod(const Interval& a, const Int& d);
Interval floor_mod(const Interval& a, const Interval& d);
/// The smallest interval that holds both.
Interval hull(const Interval& a, const Interval& b);
/// The members of both, which must have one in common; where they have none, a.
Interval meet(const Interval& a, const Interval& b);
/// Bounds of the larger of a member of a and a member of b.
Interval larger(const Interval& a, const Interval& b);

}  // namespace touchstone::symbolic
