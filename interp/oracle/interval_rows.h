#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "touchstone/interp/oracle/envelope.h"

namespace touchstone::interp {

/// The interval form of an elementwise op on float32 or float64, a run of elements at a time: the
/// ends of ADD, SUB, MUL, MAX and NEG where every operand is an interval of finite numbers. `done`
/// becomes 1 for each element of `out` that was given its result, and empty where the op, the type
/// or the profile has no such form; the rest is for the general rules of legal.h, which give the
/// same results.
void apply_interval_rows(const ProgramNode& node, const Profile& profile,
                         std::span<const LegalBlock* const> operands, LegalBlock& out,
                         std::vector<std::uint8_t>& done);

}  // namespace touchstone::interp
