#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/symbolic/expr/expr.h"

namespace touchstone::symbolic {

/// Evaluates expressions at points by the definitions of the operators. A division by zero is
/// undefined (nullopt) and so are operators on it, except that a branch of `where` that is not
/// taken is ignored, and a false operand decides an `and`, a true operand an `or`.
///
/// All evaluation of expressions as written is here, except for the checks: compare_at_points
/// (symbolic/check/points.h) and the fuzzer's PointValues each have their own, so that a fault here
/// shows. Nodes have another algebra and another notion of what is defined (node/compiled_node.h).
class Evaluator {
 public:
  /// `names` is the order of the variables in points. Needs `exprs` only during the call.
  Evaluator(const Exprs& exprs, const std::vector<Expr>& roots,
            const std::vector<std::string>& names);

  /// Evaluates at a point; results are in value().
  void at(std::span<const Int> point);
  const std::optional<Int>& value(Expr e) const { return values_[place_[e]]; }

 private:
  struct Instruction {
    ExprOp op;
    std::size_t first, count;  // in args_
    std::size_t variable;      // index in a point
    Int constant;
  };
  std::optional<Int> step(const Instruction& i, std::span<const Int> point) const;
  std::optional<Int> logic(ExprOp op, const std::optional<Int>& a,
                           const std::optional<Int>& b) const;

  std::vector<Instruction> program_;
  std::vector<std::size_t> args_;   // indices
  std::vector<std::size_t> place_;  // index of each Expr
  std::vector<std::optional<Int>> values_;
};

}  // namespace touchstone::symbolic
