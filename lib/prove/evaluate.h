#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/prove/claim.h"

namespace touchstone::prove {

/// Values of expressions at points, by the definitions of the operators alone. An undefined value,
/// nullopt, comes from a division by zero and passes through every operator but these: a branch of
/// `where` that is not taken does not count, and a false part makes an `and`, a true part an `or`,
/// whatever the other part is.
class Evaluator {
 public:
  /// Variables of the roots are read from points in the order of `names`.
  Evaluator(const Exprs& exprs, const std::vector<Expr>& roots,
            const std::vector<std::string>& names);

  /// Makes the point's values known to value().
  void at(std::span<const Int> point);
  const std::optional<Int>& value(Expr e) const { return values_[place_[e]]; }

 private:
  struct Instruction {
    ExprOp op;
    std::size_t first, count;  // in args_
    std::size_t variable;      // place in a point
    Int constant;
  };
  std::optional<Int> step(const Instruction& i, std::span<const Int> point) const;
  std::optional<Int> logic(ExprOp op, const std::optional<Int>& a,
                           const std::optional<Int>& b) const;

  std::vector<Instruction> program_;
  std::vector<std::size_t> args_;   // places
  std::vector<std::size_t> place_;  // of each Expr
  std::vector<std::optional<Int>> values_;
};

}  // namespace touchstone::prove
