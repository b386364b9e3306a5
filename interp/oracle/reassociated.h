#pragma once

#include <memory>
#include <span>

#include "touchstone/interp/oracle/envelope.h"

namespace touchstone::interp {

/// The roundings of the expression that `node` ends, as far as a compiler that takes arithmetic for
/// that of real numbers may rearrange it: sums, products and quotients of loaded values and of
/// results of other operations, which count one each.
int roundings_of(const ProgramNode& node, std::span<const LegalBlock* const> operands);

/// Extends the legal results of a float node to those of every rearrangement of its expression
/// (Profile::reassociates; docs/oracle.md has the bound), and notes its terms for later nodes.
void extend_to_rearranged(const ProgramNode& node, const Profile& profile,
                          std::span<const LegalBlock* const> operands, LegalBlock& out);

/// The same for a sum of floats, whose terms are expressions.
std::unique_ptr<LegalReducer> rearranged_reducer(const ProgramNode& node, const Profile& profile,
                                                 std::unique_ptr<LegalReducer> inner);

}  // namespace touchstone::interp
