#pragma once

#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/symbolic/expr/expr.h"

namespace touchstone::fuzz {

/// The tree with one part changed: another comparison, a remainder for a quotient, a part on its
/// own, a sign, or one more or less.
symbolic::Expr nearly(symbolic::Exprs& exprs, symbolic::Expr root, Chooser& chooser);

}  // namespace touchstone::fuzz
