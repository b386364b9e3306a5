#pragma once

#include "touchstone/prove/search.h"

namespace touchstone::decide {

/// The result of testing one number of each residue class in place of all numbers.
struct ByResidues {
  bool proved = false;
  std::optional<prove::Counterexample> counterexample;
  std::string why;  // if there is no answer
};

/// Decides a claim whose sides depend only on the remainders of its variables by some period, at no
/// more than `most` points.
ByResidues by_residues(const prove::Claim& claim, std::size_t most);

}  // namespace touchstone::decide
