#pragma once

#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/fuzz/index/expression_case.h"
#include "touchstone/symbolic/check/derivation.h"

namespace touchstone::fuzz {

/// A certificate of one step about the expression of a case, a part of it or a number, made to
/// deceive the checker: an instance of a rule whose bindings divide by 0 at some point, in a
/// context chosen so that both sides have the normal forms that the checker asks for; arithmetic
/// that brings in a division; variables with the names of rules' variables; facts from elsewhere.
/// Its claim may be true, too.
symbolic::Derivation forge_certificate(const ExpressionCase& c, Chooser& chooser);

}  // namespace touchstone::fuzz
