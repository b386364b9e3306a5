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

  /// The parts of a text, where they stand in it; the expressions are not read.
  struct Parts {
    std::vector<Variable> variables;
    std::string_view root;
    std::vector<std::string_view> assumptions;
  };
  static Parts split(std::string_view text);
  [[noreturn]] static void refuse_unknown(const std::string& name);

  /// Throws ParseError saying what is wrong and where, as do the above.
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

/// Takes as points up to `most` of the variables' box: all of them where there are no more, else
/// its corners and others that the text chooses. Place i of the values is variable i.
void take_points(PointValues& values, const std::vector<ExpressionCase::Variable>& variables,
                 std::uint64_t hash, std::size_t most);

}  // namespace touchstone::fuzz
