#include "touchstone/symbolic/read/tape_program.h"

#include <algorithm>

#include "touchstone/symbolic/expr/operators.h"

namespace touchstone::symbolic {

TapeProgram::TapeProgram(const Tape& tape) : values_(tape.parts()), root_(tape.root()) {
  for (Tape::Part i = 0; i < tape.parts(); ++i) {
    const Tape::Step step = tape.step(i);
    Part part{step.op, operands_.size(), step.operands.size(), {}};
    if (step.op == ExprOp::Constant) {
      part.constant = tape.value(step);
    } else if (step.op == ExprOp::Variable) {
      part.first = variables_.size();  // each variable is one part
      variables_.push_back(step.operands[0]);
    } else {
      operands_.insert(operands_.end(), step.operands.begin(), step.operands.end());
    }
    parts_.push_back(std::move(part));
  }
}

bool TapeProgram::may_divide_by_zero(const Tape& tape) {
  for (Tape::Part i = 0; i < tape.parts(); ++i) {
    const Tape::Step step = tape.step(i);
    if (!divides(step.op)) continue;
    const Tape::Step divisor = tape.step(step.operands[1] >> 1);
    if (divisor.op != ExprOp::Constant || tape.value(divisor).is_zero()) return true;
  }
  return false;
}

std::optional<Int> TapeProgram::run(std::span<const Int> values) {
  for (std::size_t i = 0; i < parts_.size(); ++i) values_[i] = step(parts_[i], values);
  return values_[root_];
}

std::optional<Int> TapeProgram::step(const Part& part, std::span<const Int> values) const {
  if (part.op == ExprOp::Constant) return part.constant;
  if (part.op == ExprOp::Variable) return values[part.first];
  const auto arg = [&](std::size_t i) -> const std::optional<Int>& {
    return values_[operands_[part.first + i] >> 1];
  };
  bool whole = true;  // all operands are defined
  for (std::size_t i = 0; i < part.count; ++i) whole &= arg(i).has_value();
  switch (part.op) {
    case ExprOp::And:
    case ExprOp::Or: {
      const bool decisive = part.op == ExprOp::Or;
      for (std::size_t i = 0; i < part.count; ++i)
        if (arg(i) && arg(i)->is_zero() != decisive) return Int(decisive ? 1 : 0);
      return whole ? std::optional(Int(decisive ? 0 : 1)) : std::nullopt;
    }
    case ExprOp::Where:
      if (!arg(0)) return std::nullopt;
      return arg(0)->is_zero() ? arg(2) : arg(1);
    default:
      break;
  }
  if (!whole || (divides(part.op) && arg(1)->is_zero())) return std::nullopt;
  if (part.op == ExprOp::Not) return Int(arg(0)->is_zero() ? 1 : 0);
  if (part.op == ExprOp::Neg) return -*arg(0);
  const auto minus = [&](std::size_t i) { return (operands_[part.first + i] & 1) != 0; };
  Int r = minus(0) ? -*arg(0) : *arg(0);
  for (std::size_t i = 1; i < part.count; ++i)
    r = value_of(minus(i) ? ExprOp::Sub : part.op, r, *arg(i));
  return r;
}

}  // namespace touchstone::symbolic
