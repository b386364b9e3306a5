#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "touchstone/interp/oracle/envelope.h"

namespace touchstone::interp {

/// Fast interval form of an elementwise op on float32 or float64: the ends of ADD, SUB, MUL, MAX
/// and NEG for elements whose operands are all intervals of finite numbers. Sets `done` to 1 for
/// each element of `out` with a result, or leaves it empty if there is no such form for the op,
/// type or profile; the general rules of legal.h compute the rest and give the same results.
void apply_interval_rows(const ProgramNode& node, const Profile& profile,
                         std::span<const LegalBlock* const> operands, LegalBlock& out,
                         std::vector<std::uint8_t>& done);

}  // namespace touchstone::interp
