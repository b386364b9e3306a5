#pragma once

#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/fuzz/index/expression_case.h"
#include "touchstone/symbolic/check/derivation.h"

namespace touchstone::fuzz {

/// A one-step certificate about the case's expression, a part of it or a number, made to deceive
/// the checker: a rule instance whose bindings divide by 0 at some point, in a context where both
/// sides have the normal forms the checker requires; arithmetic that introduces a division;
/// variables named like rule variables; unrelated facts. Its claim may still be true.
symbolic::Derivation forge_certificate(const ExpressionCase& c, Chooser& chooser);

/// The tree with one part changed: another comparison, a remainder for a quotient, a part on its
/// own, a sign, or one more or less.
symbolic::Expr nearly(symbolic::Exprs& exprs, symbolic::Expr root, Chooser& chooser);

}  // namespace touchstone::fuzz
