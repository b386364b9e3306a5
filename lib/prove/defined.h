#pragma once

#include "touchstone/prove/claim.h"

namespace touchstone::prove {

/// Returns the condition under which symbolic::Evaluator gives an expression a value; the constant
/// 1 if it always does.
Expr defined(Exprs& exprs, Expr root);

/// Rewrites tdiv and tmod as floor divisions, with cases on the signs of their arguments.
Expr with_floor_divisions(Exprs& exprs, Expr root);

}  // namespace touchstone::prove
