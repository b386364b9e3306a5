#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "touchstone/interp/oracle/envelope.h"

namespace touchstone::interp {

/// 1 for each element that has its result; empty if none has (interval_rows.h).
using Done = std::vector<std::uint8_t>;

/// Computes the legal results of an elementwise node other than CAST from those of its operands,
/// for the elements that are not `done`.
void apply_legal(const ProgramNode& node, const Profile& profile,
                 std::span<const LegalBlock* const> in, const Done& done, LegalBlock& out);
/// The same for a CAST.
void apply_legal_cast(const ProgramNode& node, const Profile& profile, const LegalBlock& in,
                      LegalBlock& out);
/// The same for a FUNCTION: within the profile's error of the true value, or what its decomposition
/// may give.
void apply_legal_function(const ProgramNode& node, const Profile& profile,
                          std::span<const LegalBlock* const> in, LegalBlock& out);

}  // namespace touchstone::interp
