#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "touchstone/interp/oracle/envelope.h"

namespace touchstone::interp {

/// 1 for each element that has its result; empty if none has (apply_interval_rows).
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

/// Fast interval form of an elementwise op on float32 or float64: the ends of ADD, SUB, MUL, MAX
/// and NEG for elements whose operands are all intervals of finite numbers. Sets `done` to 1 for
/// each element of `out` with a result, or leaves it empty if there is no such form for the op,
/// type or profile; the general rules of legal.h compute the rest and give the same results.
void apply_interval_rows(const ProgramNode& node, const Profile& profile,
                         std::span<const LegalBlock* const> operands, LegalBlock& out,
                         std::vector<std::uint8_t>& done);

}  // namespace touchstone::interp
