#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/symbolic/expr/expr.h"
#include "touchstone/symbolic/number/interval.h"

namespace touchstone::symbolic {

/// A step without a rule: both parts have the same normal form (ring.h).
inline constexpr std::string_view kArithmetic = "arithmetic";
/// An arithmetic step with the name of its law; the checker ignores the name.
struct ArithmeticLaw {
  std::string_view name, title;
};
inline constexpr ArithmeticLaw kArithmeticLaws[] = {
    {"arithmetic", "the same by arithmetic, by several laws at once"},
    {"arithmetic.numbers", "numbers are computed, and zeros drop out"},
    {"arithmetic.order", "operands change places"},
    {"arithmetic.terms", "like terms add up, and products are multiplied out or put together"},
    {"arithmetic.comparison", "terms change sides, and not x < y is y <= x"},
    {"arithmetic.logic", "conditions decide, hold or exclude each other"},
    {"arithmetic.choice",
     "terms move into a choice or out of it, and choices on one condition join"},
    {"arithmetic.extremes",
     "of max and min: members in any order, each once, and common terms move out"},
    {"arithmetic.signs", "tdiv and tmod are // and % of absolute values, with the signs put back"},
};
constexpr const ArithmeticLaw* find_arithmetic_law(std::string_view name) {
  for (const ArithmeticLaw& law : kArithmeticLaws)
    if (law.name == name) return &law;
  return nullptr;
}

/// A step between parts that are equal in every case: whichever members of their maxima and minima
/// are extreme and whichever of their conditions hold (entailment.h).
inline constexpr std::string_view kCases = "cases";
/// A step between parts that are equal at every point within the variables' bounds (points.h).
inline constexpr std::string_view kPoints = "points";
/// A simplifier step without an explanation; the checker rejects it.
inline constexpr std::string_view kUnexplained = "unexplained";

/// One rewriting of a part of the expression.
struct DerivationStep {
  std::string rule;                                    // a rule of rules.h, or a name above
  Path path;                                           // position of the part
  Expr before = 0, after = 0;                          // the part before and after
  Expr whole = 0;                                      // the whole after the step
  std::vector<std::pair<std::string, Expr>> bindings;  // of the rule's variables
  bool backwards = false;                              // rhs became lhs
  /// The part as a function of `_`, the side of the rule: `_` if the part is that side, `y + 3*_`
  /// if it is one term.
  Expr context = 0;
  /// Premises of the rule's condition: variable bounds, assumptions, and the conditions that guard
  /// the part.
  std::vector<Expr> facts;
};

/// A sequence of steps from `start` to `result`.
struct Chain {
  Expr start = 0, result = 0;
  std::vector<DerivationStep> steps;
};

/// The derivation of the simplified form, from the input text to the rendered text; no steps if the
/// result would be longer than the input.
struct Derivation {
  using Variable = std::pair<std::string, Interval>;
  Exprs exprs;
  std::vector<Variable> variables;
  std::vector<Chain> assumptions;  // each ends in the form that the simplifier uses
  Chain main;
  /// The canonical form, if it renders longer than the text; then there are no steps.
  std::optional<Expr> longer;
};

/// Facts that hold at a position of an expression: bounds of the variables, the first `known`
/// assumptions, and the conditions of the enclosing `and`, `or` and `where`.
std::vector<Expr> facts_at(Derivation& d, std::size_t known, Expr whole, const Path& path);

}  // namespace touchstone::symbolic
