#pragma once

#include "touchstone/fuzz/index/expression_case.h"

namespace touchstone::fuzz {

/// The tree with its operands exchanged wherever that changes nothing.
symbolic::Expr swapped(symbolic::Exprs& exprs, symbolic::Expr root);

/// Whether no maximum or minimum has more members than are brought to one form: of more, the result
/// depends on how they are nested and in which order they come.
bool has_one_form(const symbolic::Exprs& exprs, symbolic::Expr root);

/// Whether the bounds of the root, term by term, are attained for sure: all parts are read once, in
/// sums, multiples, quotients of such by positive constants, minima and maxima, and a remainder of
/// a sum of variables.
bool attains_bounds(const ExpressionCase& c);

}  // namespace touchstone::fuzz
