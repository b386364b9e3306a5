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

/// number = divisor*quotient + remainder with new variables for quotient and remainder: one part of
/// a witness. The remainder lies between 0 and the divisor, as in floor division.
struct Let {
  Expr number, divisor, quotient, remainder;
};

/// lhs -> rhs ; when. Semantics as in symbolic::Rule: where all conditions hold and lhs is defined,
/// rhs is defined and equal. The expressions are as written, not simplified.
struct Claim {
  Exprs exprs;
  Expr lhs = 0, rhs = 0;
  std::vector<Expr> when;  // the conjuncts
  std::vector<Let> witness;
};

/// Parses `LHS -> RHS` or `LHS -> RHS ; CONDITION`, and witnesses `x = c*q + r`, `x = c*(d*q + s) +
/// r`, separated by `;`. Throws ParseError that shows the column; a claim may have at most
/// kMostParts distinct subexpressions.
Claim read_claim(std::string_view text, std::string_view witness = "");
Claim read_claim(const symbolic::Rule& rule);
/// `law -> True`.
Claim read_claim(const symbolic::BoundRule& rule);

struct Named {
  std::string name, title;
  Claim claim;
};
/// The rules of the simplifier, then those of its bounds.
std::vector<Named> all_rules();
Claim read_claim(std::string_view lhs, std::string_view rhs, std::string_view when,
                 std::string_view witness = "");

inline constexpr std::size_t kMostParts = 1000;

/// Formats a claim for read_claim.
std::string text_of(const Claim& claim);

/// Sorted names of the variables in the roots.
std::vector<std::string> variables_of(const Exprs& exprs, const std::vector<Expr>& roots);

/// The operands of a condition joined by `and`.
std::vector<Expr> conjuncts_of(const Exprs& exprs, Expr condition);

}  // namespace touchstone::prove
