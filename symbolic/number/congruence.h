#pragma once

#include <optional>

#include "touchstone/symbolic/number/interval.h"

namespace touchstone::symbolic {

/// All integers x = residue (mod modulus): every integer where the modulus is 1, the residue alone
/// where it is 0. The residue lies in [0, modulus) unless the modulus is 0. Each function below
/// holds every result of its operation on members; bound_rules.h has the laws.
struct Congruence {
  Int modulus = 1, residue = 0;

  static Congruence point(const Int& value) { return {0, value}; }
  /// Of a modulus of either sign and any residue.
  static Congruence of(const Int& modulus, const Int& residue);
  bool is_trivial() const { return modulus.is_one(); }
  bool contains(const Int& x) const;
  bool operator==(const Congruence&) const = default;
};

Congruence operator+(const Congruence& a, const Congruence& b);
Congruence operator*(const Congruence& a, const Int& factor);
Congruence operator*(const Congruence& a, const Congruence& b);
/// Floor quotients and remainders; d >= 1 for the number, another divisor is not 0.
Congruence floor_div(const Congruence& a, const Int& d);
Congruence floor_mod(const Congruence& a, const Int& d);
Congruence floor_mod(const Congruence& a, const Congruence& d);
/// The finest one that holds both: what a choice between them gives.
Congruence hull(const Congruence& a, const Congruence& b);
/// The members of both; nullopt where there are none.
std::optional<Congruence> meet(const Congruence& a, const Congruence& b);
/// All x with factor*x + constant = 0 (mod modulus); nullopt where there are none.
std::optional<Congruence> solved(const Int& factor, const Int& constant, const Int& modulus);
/// The interval with its ends moved inwards to the nearest members; nullopt where none is left.
std::optional<Interval> trimmed(const Interval& range, const Congruence& c);

}  // namespace touchstone::symbolic
