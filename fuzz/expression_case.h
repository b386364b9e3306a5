#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/fuzz/area.h"
#include "touchstone/fuzz/chooser.h"
#include "touchstone/symbolic/expr.h"

namespace touchstone::fuzz {

/// An index expression, the ranges of its variables and what is assumed of them. As a text, with
/// open ends left out: "x=0..7 y=-3.. | (x + 4*y)//2 | x < 5 | y != 2".
struct ExpressionCase {
  struct Variable {
    std::string name;
    std::optional<symbolic::Int> low, high;  // inclusive
  };
  std::vector<Variable> variables;
  symbolic::Exprs exprs;  // of the root and the assumptions, and nothing else
  symbolic::Expr root = 0;
  std::vector<symbolic::Expr> assumptions;

  /// Throws ParseError saying what is wrong and where.
  static ExpressionCase parse(std::string_view text);
  /// The shortest text; variables that do not occur are left out.
  std::string str() const;
};

/// Index arithmetic as kernels have it, and what breaks simplifiers: the same few constants again
/// and again, divisors that are negative or not constant, numbers beyond 64 bits, comparisons and
/// choices, each kind left out of a part of the cases.
std::string draw_expression(Chooser& chooser);

/// Smaller cases, roots and assumptions alike, and how large one is whose text has so many
/// characters: nodes, constants, ranges, characters.
std::vector<std::string> smaller_expressions(const ExpressionCase& c);
Measure measure_of(const ExpressionCase& c, std::size_t characters);

/// Up to `most` points of the variables' box: all of them where there are no more, else its corners
/// and others that the text chooses. points[i] holds a value for each variable.
std::vector<std::vector<symbolic::Int>> points_of(const ExpressionCase& c, std::uint64_t hash,
                                                  std::size_t most);

/// Values of all parts of some expressions at some points, by the definitions of the operators
/// alone; none where a division by zero can change it (a `where` takes one arm, a false part makes
/// an `and`, a true one an `or`).
class ExpressionValues {
 public:
  ExpressionValues(const symbolic::Exprs& exprs,
                   const std::vector<ExpressionCase::Variable>& variables,
                   const std::vector<std::vector<symbolic::Int>>& points);
  /// nullptr where the value is not defined.
  const symbolic::Int* at(symbolic::Expr e, std::size_t point) const {
    const std::size_t i = e * points_ + point;
    return defined_[i] != 0 ? &values_[i] : nullptr;
  }

 private:
  void fill(const symbolic::Exprs& exprs, symbolic::Expr e);

  std::size_t points_;
  std::vector<symbolic::Int> values_;  // a row an expression
  std::vector<unsigned char> defined_;
};

}  // namespace touchstone::fuzz
