#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/fuzz/engine/area.h"
#include "touchstone/fuzz/index/point_values.h"
#include "touchstone/symbolic/expr/expr.h"

namespace touchstone::fuzz {

/// An index expression, the ranges of its variables and assumptions about them. As text, with open
/// ends left out: "x=0..7 y=-3.. | (x + 4*y)//2 | x < 5 | y != 2".
struct ExpressionCase {
  struct Variable {
    std::string name;
    std::optional<symbolic::Int> low, high;  // inclusive
  };
  std::vector<Variable> variables;
  symbolic::Exprs exprs;  // holds the root and the assumptions only
  symbolic::Expr root = 0;
  std::vector<symbolic::Expr> assumptions;

  /// Views of the parts of a text; the expressions are not parsed.
  struct Parts {
    std::vector<Variable> variables;
    std::string_view root;
    std::vector<std::string_view> assumptions;
  };
  static Parts split(std::string_view text);
  [[noreturn]] static void refuse_unknown(const std::string& name);

  /// Throws ParseError, saying what is wrong and where, as does parts().
  static ExpressionCase parse(std::string_view text);
  /// The shortest text; unused variables are left out.
  std::string str() const;
};

/// Index arithmetic as kernels have it and as it breaks simplifiers: few constants used repeatedly,
/// divisors that are negative or not constant, numbers beyond 64 bits, comparisons and choices.
/// Some cases leave out each kind.
std::string draw_expression(Chooser& chooser);

/// Smaller cases, shrinking roots and assumptions alike; and the size of a case whose text has
/// `characters`: nodes, constants, ranges, characters.
std::vector<std::string> smaller_expressions(const ExpressionCase& c);
Measure measure_of(const ExpressionCase& c, std::size_t characters);

/// Takes up to `most` points of the variables' box: all if there are no more, else its corners and
/// others chosen by `hash`. Variable i of `values` is `variables[i]`.
void take_points(PointValues& values, const std::vector<ExpressionCase::Variable>& variables,
                 std::uint64_t hash, std::size_t most);

}  // namespace touchstone::fuzz
