#pragma once

#include "touchstone/prove/claim.h"

namespace touchstone::prove {

/// A claim with one change, such as a slip of the pen would make it.
struct Mutant {
  std::string what;  // "rhs: x//d -> x%d"
  Claim claim;
};

/// The claim without each of its conditions in turn. Where every condition is necessary, each has a
/// counterexample.
std::vector<Mutant> without_conditions(const Claim& claim);

/// The claim with each of these changes in turn. In lhs and rhs: + and - exchanged, // and %, min
/// and max, `and` and `or`; a comparison made strict, or not strict, or its opposite; `not` or a
/// minus left out; the branches of a `where` exchanged; a number one larger. In the conditions: +
/// and - exchanged, and each inequality wider by one. Most are false; one that a prover calls
/// proved is another true law.
std::vector<Mutant> mutants(const Claim& claim);

}  // namespace touchstone::prove
