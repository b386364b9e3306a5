#pragma once

#include "touchstone/prove/claim.h"

namespace touchstone::prove {

/// A claim with one change, like a typing mistake.
struct Mutant {
  std::string what;  // "rhs: x//d -> x%d"
  Claim claim;
};

/// Drops each condition in turn. If every condition is necessary, each result has a counterexample.
std::vector<Mutant> without_conditions(const Claim& claim);

/// Applies each of these changes in turn. In lhs and rhs: exchange + and -, // and %, min and max,
/// `and` and `or`; make a comparison strict, non-strict or opposite; drop `not` or a minus;
/// exchange the branches of `where`; increment a number. In the conditions: exchange + and -, widen
/// each inequality by one. Most results are false; one that is proved is another valid rule.
std::vector<Mutant> mutants(const Claim& claim);

}  // namespace touchstone::prove
