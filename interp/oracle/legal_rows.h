#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "touchstone/interp/oracle/envelope.h"

namespace touchstone::interp {

/// For each element whether it has its result; empty where none has (interval_rows.h).
using Done = std::vector<std::uint8_t>;

/// The legal results of an elementwise node but CAST from those of its operands, for the elements
/// that are not `done` yet.
void apply_legal(const ProgramNode& node, const Profile& profile,
                 std::span<const LegalBlock* const> in, const Done& done, LegalBlock& out);
/// Those of a CAST.
void apply_legal_cast(const ProgramNode& node, const Profile& profile, const LegalBlock& in,
                      LegalBlock& out);

}  // namespace touchstone::interp
