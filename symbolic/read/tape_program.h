#pragma once

#include <optional>
#include <span>
#include <vector>

#include "touchstone/symbolic/read/tape.h"

namespace touchstone::symbolic {

/// An expression as written, laid out for evaluation at many points by the definitions of the
/// operators: what Program is for nodes. Its values are exact also in where there are none, since
/// nothing was simplified away.
class TapeProgram {
 public:
  explicit TapeProgram(const Tape& tape);

  /// The variable nodes that occur: slot i of `run` is the value of variables()[i].
  std::span<const Id> variables() const { return variables_; }
  /// Parts evaluated at a point.
  std::size_t size() const { return parts_.size(); }
  /// Whether a divisor may be 0 somewhere: is no number, or the number 0.
  static bool may_divide_by_zero(const Tape& tape);

  /// The value at a point; nullopt where it divides by zero, but for an arm of `where` that is not
  /// taken and a part beside one that decides an `and` or an `or`. values: one for each of
  /// variables().
  std::optional<Int> run(std::span<const Int> values);

 private:
  struct Part {
    ExprOp op;
    std::size_t first, count;  // in operands_; of a Variable its slot
    Int constant;
  };
  std::optional<Int> step(const Part& part, std::span<const Int> values) const;

  std::vector<Part> parts_;
  std::vector<std::uint32_t> operands_;  // as in the tape
  std::vector<Id> variables_;
  std::vector<std::optional<Int>> values_;
  std::size_t root_;
};

}  // namespace touchstone::symbolic
