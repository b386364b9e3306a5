#pragma once

#include <vector>

#include "touchstone/prove/claim.h"

namespace touchstone::prove {

/// Returns the condition under which symbolic::Evaluator gives an expression a value; the constant
/// 1 if it always does.
Expr defined(Exprs& exprs, Expr root);

/// Rewrites tdiv and tmod as floor divisions, with cases on the signs of their arguments.
Expr with_floor_divisions(Exprs& exprs, Expr root);

/// The claim for each choice of signs of the variables in operands of tdiv and tmod, which then
/// are floor divisions of absolute values: in a case, a variable stands for its absolute value.
std::vector<Claim> by_signs(const Claim& claim);

}  // namespace touchstone::prove
