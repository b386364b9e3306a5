#pragma once

#include <span>

#include "touchstone/symbolic/write/extract.h"

namespace touchstone::symbolic {

/// Forms as trees with the operators of the notation: a Sub from the constant 0 is a Neg.
class FormTree {
 public:
  explicit FormTree(const List<Form>& forms) : forms_(forms) {}

  ExprOp op(int form) const { return negates(form) ? ExprOp::Neg : at(form).op; }
  std::span<const int> args(int form) const {
    const std::span<const int> all = at(form).args;
    return negates(form) ? all.subspan(1) : all;
  }
  const Int& value(int form) const { return at(form).value; }         // of a Constant
  const std::string& name(int form) const { return *at(form).name; }  // of a Variable

 private:
  const Form& at(int form) const { return forms_[static_cast<std::size_t>(form)]; }
  bool negates(int form) const {
    if (at(form).op != ExprOp::Sub) return false;
    const Form& left = at(at(form).args[0]);
    return left.op == ExprOp::Constant && left.value.is_zero();
  }

  const List<Form>& forms_;
};

}  // namespace touchstone::symbolic
