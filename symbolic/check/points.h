#pragma once

#include <cstdint>
#include <span>

#include "touchstone/symbolic/check/derivation.h"

namespace touchstone::symbolic {

/// What comparing two expressions at every point of their variables' values says.
enum class AtPoints : std::uint8_t {
  Equal,    // wherever the facts hold and the first has a value, the second has it too
  Differ,   // not so at a point
  TooMany,  // a variable is open, or there is more to evaluate than kLimits.value_work
};

/// Compares two expressions at all points of the bounds of the variables that they and the facts
/// have, which facts that compare one with a number narrow, each operator by its definition
/// (operators.h). A branch of `where` that is not taken may divide by zero, and so may a part
/// beside one that decides an `and` or an `or`; a fact that divides by zero does not hold.
AtPoints compare_at_points(const Derivation& d, Expr before, Expr after,
                           std::span<const Expr> facts);

}  // namespace touchstone::symbolic
