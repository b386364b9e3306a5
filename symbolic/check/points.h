#pragma once

#include <cstdint>
#include <span>

#include "touchstone/symbolic/check/derivation.h"

namespace touchstone::symbolic {

/// Result of comparing two expressions at every point.
enum class AtPoints : std::uint8_t {
  Equal,    // wherever the facts hold and the first has a value, the second has the same
  Differ,   // they differ at some point
  TooMany,  // a variable is unbounded, or the work exceeds kLimits.value_work
};

/// Compares two expressions at all points within the bounds of their variables and those of the
/// facts, narrowed by facts that compare one variable with a number. Operators are evaluated by
/// definition (operators.h). A division by zero is allowed in a `where` branch that is not taken
/// and beside an operand that decides an `and` or `or`; a fact that divides by zero does not hold.
AtPoints compare_at_points(const Derivation& d, Expr before, Expr after,
                           std::span<const Expr> facts);

}  // namespace touchstone::symbolic
