#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/symbolic/expr/expr.h"

namespace touchstone::symbolic {

/// The step that only computes: both parts have one normal form (ring.h), no rule is needed.
inline constexpr std::string_view kArithmetic = "arithmetic";
/// The same with the law named that does it; the checker does not ask which.
struct ArithmeticLaw {
  std::string_view name, title;
};
inline constexpr ArithmeticLaw kArithmeticLaws[] = {
    {"arithmetic", "the same by arithmetic, by several laws at once"},
    {"arithmetic.numbers", "numbers are computed, and what adds nothing drops out"},
    {"arithmetic.order", "operands change places"},
    {"arithmetic.terms", "like terms add up, and products are multiplied out or put together"},
    {"arithmetic.comparison", "terms change sides, and what is not less is at least as large"},
    {"arithmetic.logic", "conditions decide, hold or exclude each other"},
    {"arithmetic.choice",
     "terms move into a choice or out of it, and choices on one condition join"},
    {"arithmetic.extremes",
     "of max and min: members in any order, each once, and what all have moves out"},
    {"arithmetic.signs", "tdiv and tmod are // and % of absolute values, with the signs put back"},
};
constexpr const ArithmeticLaw* find_arithmetic_law(std::string_view name) {
  for (const ArithmeticLaw& law : kArithmeticLaws)
    if (law.name == name) return &law;
  return nullptr;
}

/// The step between two parts that are equal whichever members of the maxima and minima in them are
/// the largest and smallest, and whichever conditions in them hold (entailment.h).
inline constexpr std::string_view kCases = "cases";
/// The step between two parts that are equal at each of the points that their variables' bounds
/// leave (points.h).
inline constexpr std::string_view kPoints = "points";
/// A step that the simplifier took and that could not be explained; no checker accepts it.
inline constexpr std::string_view kUnexplained = "unexplained";

/// One rewriting of a part of the expression.
struct DerivationStep {
  std::string rule;                                    // a name of rules.h, or of those above
  Path path;                                           // where the part stands
  Expr before = 0, after = 0;                          // the part
  Expr whole = 0;                                      // all of it, after the step
  std::vector<std::pair<std::string, Expr>> bindings;  // of the rule's variables
  bool backwards = false;                              // rhs became lhs
  /// The part as a function of the rule's side, which it writes `_`: `_` itself where the part is
  /// that side, `y + 3*_` where it is one of its terms.
  Expr context = 0;
  /// The premises of the rule's condition: bounds of variables, assumptions, and conditions
  /// under which the part stands.
  std::vector<Expr> facts;
};

/// An expression, step by step, and what it became.
struct Chain {
  Expr start = 0, result = 0;
  std::vector<DerivationStep> steps;
};

/// How an expression came to its simplified form, from the text as given to the text as rendered;
/// without steps where that would be longer.
struct Derivation {
  struct Variable {
    std::string name;
    std::optional<Int> lo, hi;  // inclusive; absent is open
  };
  Exprs exprs;
  std::vector<Variable> variables;
  std::vector<Chain> assumptions;  // each in the form the simplifier uses it
  Chain main;
  /// The canonical form, where it would be written longer than the text: then no step is taken.
  std::optional<Expr> longer;
};

/// Facts that hold at a place of an expression: bounds of the variables, the first `known` of the
/// assumptions, and what `and`, `or` and `where` above the place say about it.
std::vector<Expr> facts_at(Derivation& d, std::size_t known, Expr whole, const Path& path);

}  // namespace touchstone::symbolic
