#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "touchstone/symbolic/expr/expr.h"
#include "touchstone/symbolic/rules/bound_rules.h"
#include "touchstone/symbolic/rules/rules.h"

namespace touchstone::prove {

using symbolic::Expr;
using symbolic::ExprOp;
using symbolic::Exprs;
using symbolic::Int;

/// number = divisor*quotient + remainder, with new variables for quotient and remainder: what a
/// witness says of a number. The remainder lies between 0 and the divisor, as of a floor division.
struct Let {
  Expr number, divisor, quotient, remainder;
};

/// lhs -> rhs ; when. What is claimed stands at symbolic::Rule: where all conditions hold and lhs
/// is defined, rhs is defined and equal. The trees are as written: nothing has simplified them.
struct Claim {
  Exprs exprs;
  Expr lhs = 0, rhs = 0;
  std::vector<Expr> when;  // the conjuncts
  std::vector<Let> witness;
};

/// The parts of a text as a person writes it: `LHS -> RHS` or `LHS -> RHS ; CONDITION`, and a
/// witness `x = c*q + r`, `x = c*(d*q + s) + r`, more of them with `;` between. Throws ParseError
/// pointing at the column; a claim may hold at most kMostParts different subexpressions.
Claim read_claim(std::string_view text, std::string_view witness = "");
Claim read_claim(const symbolic::Rule& rule);
/// `law -> True`.
Claim read_claim(const symbolic::BoundRule& rule);
Claim read_claim(std::string_view lhs, std::string_view rhs, std::string_view when,
                 std::string_view witness = "");

inline constexpr std::size_t kMostParts = 1000;

/// The claim as read_claim reads it.
std::string text_of(const Claim& claim);

/// Names of the variables in the roots, sorted.
std::vector<std::string> variables_of(const Exprs& exprs, const std::vector<Expr>& roots);

/// The conjuncts of a condition joined by `and`.
std::vector<Expr> conjuncts_of(const Exprs& exprs, Expr condition);

}  // namespace touchstone::prove
