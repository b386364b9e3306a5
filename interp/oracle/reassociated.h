#pragma once

#include <memory>
#include <span>

#include "touchstone/interp/oracle/envelope.h"

namespace touchstone::interp {

/// The number of roundings in the expression that ends at `node`. An expression consists of sums,
/// products and quotients; each other operation in it counts as one rounding.
int roundings_of(const ProgramNode& node, std::span<const LegalBlock* const> operands);

/// Makes legal what any rearrangement of the expression may return (Profile::reassociates;
/// docs/oracle.md has the bound), and keeps the size of its terms for the nodes that read it.
void extend_to_rearranged(const ProgramNode& node, const Profile& profile,
                          std::span<const LegalBlock* const> operands, LegalBlock& out);

/// The same for a sum of floats, whose terms are expressions.
std::unique_ptr<LegalReducer> rearranged_reducer(const ProgramNode& node, const Profile& profile,
                                                 std::unique_ptr<LegalReducer> inner);

}  // namespace touchstone::interp
