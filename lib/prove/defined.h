#pragma once

#include "touchstone/prove/claim.h"

namespace touchstone::prove {

/// The condition under which an expression is defined, as an Evaluator sees it; the constant 1
/// where it always is.
Expr defined(Exprs& exprs, Expr root);

/// tdiv and tmod written with floor divisions of numbers by the sign of their arguments.
Expr with_floor_divisions(Exprs& exprs, Expr root);

}  // namespace touchstone::prove
