#pragma once

#include <array>
#include <span>

#include "touchstone/symbolic/expr/expr.h"
#include "touchstone/symbolic/write/extract.h"

namespace touchstone::symbolic {

/// Forms as trees with the operators of the notation: a Sub from the constant 0 is a Neg.
class FormTree {
 public:
  explicit FormTree(const List<Form>& forms) : forms_(forms) {}

  ExprOp op(int form) const { return negates(form) ? ExprOp::Neg : op_of(at(form).op); }
  std::span<const int> args(int form) const {
    const std::span<const int> all = at(form).args;
    return negates(form) ? all.subspan(1) : all;
  }
  const Int& value(int form) const { return at(form).value; }         // of a Constant
  const std::string& name(int form) const { return *at(form).name; }  // of a Variable

 private:
  static constexpr std::array kOps = {
      ExprOp::Constant, ExprOp::Variable, ExprOp::Add,      ExprOp::Sub,     ExprOp::Mul,
      ExprOp::Div,      ExprOp::Mod,      ExprOp::Lt,       ExprOp::Le,      ExprOp::Eq,
      ExprOp::Ne,       ExprOp::And,      ExprOp::Or,       ExprOp::Not,     ExprOp::Min,
      ExprOp::Max,      ExprOp::Where,    ExprOp::TruncDiv, ExprOp::TruncMod};
  static_assert(kOps.size() == static_cast<std::size_t>(StepOp::TruncMod) + 1);
  static ExprOp op_of(StepOp op) { return kOps[static_cast<std::size_t>(op)]; }

  const Form& at(int form) const { return forms_[static_cast<std::size_t>(form)]; }
  bool negates(int form) const {
    if (at(form).op != StepOp::Sub) return false;
    const Form& left = at(at(form).args[0]);
    return left.op == StepOp::Const && left.value.is_zero();
  }

  const List<Form>& forms_;
};

}  // namespace touchstone::symbolic
