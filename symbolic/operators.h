#pragma once

#include "touchstone/symbolic/expr.h"

namespace touchstone::symbolic {

/// Whether the operator has no value where its second operand is 0.
bool divides(ExprOp op);
/// An operator of two operands, but for `and` and `or`, by its definition; a divisor is not 0. What
/// checks the simplifier evaluates with this and with nothing of the simplifier's.
Int value_of(ExprOp op, const Int& a, const Int& b);

}  // namespace touchstone::symbolic
