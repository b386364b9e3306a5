#pragma once

#include <optional>
#include <span>
#include <vector>

#include "touchstone/symbolic/read/tape.h"

namespace touchstone::symbolic {

/// An unsimplified expression compiled for evaluation at many points by the definitions of its
/// operators, like Program for nodes. It is undefined exactly where the expression is.
class TapeProgram {
 public:
  explicit TapeProgram(const Tape& tape);

  /// The variable nodes that occur; slot i of `run` is the value of variables()[i].
  std::span<const Id> variables() const { return variables_; }
  /// Number of parts evaluated at a point.
  std::size_t size() const { return parts_.size(); }
  /// True unless every divisor is a nonzero literal.
  static bool may_divide_by_zero(const Tape& tape);

  /// The value at a point; nullopt if it divides by zero outside a `where` branch that is not taken
  /// and outside operands beside one that decides an `and` or `or`. values: one for each of
  /// variables().
  std::optional<Int> run(std::span<const Int> values);

 private:
  struct Part {
    ExprOp op;
    std::size_t first, count;  // in operands_; of a Variable, its slot
    Int constant;
  };
  std::optional<Int> step(const Part& part, std::span<const Int> values) const;

  std::vector<Part> parts_;
  std::vector<std::uint32_t> operands_;  // encoded as in the tape
  std::vector<Id> variables_;
  std::vector<std::optional<Int>> values_;
  std::size_t root_;
};

}  // namespace touchstone::symbolic
