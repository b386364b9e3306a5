#pragma once

#include <optional>

#include "touchstone/symbolic/number/interval.h"

namespace touchstone::symbolic {

/// All integers x = residue (mod modulus); modulus 1 is every integer, modulus 0 the residue alone.
/// The residue lies in [0, modulus) unless the modulus is 0. Each function below returns a
/// congruence that contains every result of its operation on members; bound_rules.h has the laws.
struct Congruence {
  Int modulus = 1, residue = 0;

  static Congruence point(const Int& value) { return {0, value}; }
  /// Normalizes a modulus of either sign and any residue.
  static Congruence of(const Int& modulus, const Int& residue);
  bool is_trivial() const { return modulus.is_one(); }
  bool contains(const Int& x) const;
  bool operator==(const Congruence&) const = default;
};

Congruence operator+(const Congruence& a, const Congruence& b);
Congruence operator*(const Congruence& a, const Int& factor);
Congruence operator*(const Congruence& a, const Congruence& b);
/// Floor quotient and remainder; the number d is >= 1, members of a congruence of divisors are
/// nonzero.
Congruence floor_div(const Congruence& a, const Int& d);
Congruence floor_mod(const Congruence& a, const Int& d);
Congruence floor_mod(const Congruence& a, const Congruence& d);
/// The finest congruence that contains both, as for a choice between them.
Congruence hull(const Congruence& a, const Congruence& b);
/// The members of both; nullopt if there are none.
std::optional<Congruence> meet(const Congruence& a, const Congruence& b);
/// All x with factor*x + constant = 0 (mod modulus); nullopt if there are none.
std::optional<Congruence> solved(const Int& factor, const Int& constant, const Int& modulus);
/// The interval with its ends moved inwards to the nearest members; nullopt if none is left.
std::optional<Interval> trimmed(const Interval& range, const Congruence& c);

}  // namespace touchstone::symbolic
