#pragma once

#include "touchstone/fuzz/index/expression_case.h"

namespace touchstone::fuzz {

/// The tree with the operands of every commutative operation exchanged.
symbolic::Expr swapped(symbolic::Exprs& exprs, symbolic::Expr root);

/// True if every maximum and minimum has few enough members for a canonical form; with more, the
/// result depends on nesting and order.
bool has_one_form(const symbolic::Exprs& exprs, symbolic::Expr root);

/// True if the root's bounds, computed term by term, are certainly attained: every part is read
/// once, in sums, multiples, quotients of these by positive constants, minima, maxima, and a
/// remainder of a sum of variables.
bool attains_bounds(const ExpressionCase& c);

}  // namespace touchstone::fuzz
