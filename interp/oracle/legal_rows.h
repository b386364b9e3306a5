#pragma once

#include <span>

#include "touchstone/interp/oracle/envelope.h"

namespace touchstone::interp {

/// Computes the legal results of an elementwise node other than CAST from those of its operands,
/// for the elements that are not `done`.
void apply_legal(const ProgramNode& node, const Profile& profile,
                 std::span<const LegalBlock* const> in, const Done& done, LegalBlock& out);
/// The same for a CAST.
void apply_legal_cast(const ProgramNode& node, const Profile& profile, const LegalBlock& in,
                      const Done& done, LegalBlock& out);
/// The same for a FUNCTION: within the profile's error of the true value, or what its decomposition
/// may give.
void apply_legal_function(const ProgramNode& node, const Profile& profile,
                          std::span<const LegalBlock* const> in, const Done& done, LegalBlock& out);

/// Fast form of CAST between float32 and float64, ADD, SUB, MUL, DIV, MAX, NEG and exp in these
/// types, also rounded to float32 (excess.h), for elements whose operands are all intervals of
/// finite numbers. Sets `done` to 1 for each element of `out` with a result, or leaves it empty if
/// there is no such form for the op, type or profile; the general rules of legal.h compute the rest
/// and give the same results. Returns true if they are also narrowed by the radius, where it may
/// help.
bool apply_interval_rows(const ProgramNode& node, const Profile& profile,
                         std::span<const LegalBlock* const> operands, LegalBlock& out, Done& done,
                         Form form = Form::Both);

}  // namespace touchstone::interp
