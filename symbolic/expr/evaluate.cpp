#include "touchstone/symbolic/expr/evaluate.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include "touchstone/symbolic/expr/operators.h"

namespace touchstone::symbolic {

Evaluator::Evaluator(const Exprs& exprs, const std::vector<Expr>& roots,
                     const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, std::size_t> position;
  for (std::size_t i = 0; i < names.size(); ++i) position.emplace(names[i], i);
  std::set<Expr> all;
  for (const Expr root : roots)
    for (const Expr e : exprs.parts(root)) all.insert(e);
  place_.resize(exprs.count());
  for (const Expr e : all) {
    place_[e] = program_.size();
    Instruction i{exprs.op(e), args_.size(), 0, 0, {}};
    if (i.op == ExprOp::Constant) {
      i.constant = exprs.value(e);
    } else if (i.op == ExprOp::Variable) {
      i.variable = position.at(exprs.name(e));
    } else {
      for (const Expr a : exprs.args(e)) args_.push_back(place_[a]);
      i.count = args_.size() - i.first;
    }
    program_.push_back(std::move(i));
  }
  values_.resize(program_.size());
}

void Evaluator::at(std::span<const Int> point) {
  for (std::size_t i = 0; i < program_.size(); ++i) values_[i] = step(program_[i], point);
}

std::optional<Int> Evaluator::logic(ExprOp op, const std::optional<Int>& a,
                                    const std::optional<Int>& b) const {
  const bool decisive = op == ExprOp::Or;  // the operand that decides alone
  const auto decides = [&](const std::optional<Int>& v) { return v && v->is_zero() != decisive; };
  if (decides(a) || decides(b)) return Int(decisive ? 1 : 0);
  if (!a || !b) return std::nullopt;
  return Int(decisive ? 0 : 1);
}

std::optional<Int> Evaluator::step(const Instruction& i, std::span<const Int> point) const {
  if (i.op == ExprOp::Constant) return i.constant;
  if (i.op == ExprOp::Variable) return point[i.variable];
  const auto arg = [&](std::size_t n) -> const std::optional<Int>& {
    return values_[args_[i.first + n]];
  };
  if (i.op == ExprOp::And || i.op == ExprOp::Or) return logic(i.op, arg(0), arg(1));
  if (i.op == ExprOp::Where) {
    if (!arg(0)) return std::nullopt;
    return arg(0)->is_zero() ? arg(2) : arg(1);
  }
  for (std::size_t n = 0; n < i.count; ++n)
    if (!arg(n)) return std::nullopt;
  if (i.op == ExprOp::Not) return Int(arg(0)->is_zero() ? 1 : 0);
  if (i.op == ExprOp::Neg) return -*arg(0);
  if (divides(i.op) && arg(1)->is_zero()) return std::nullopt;
  Int r = *arg(0);
  for (std::size_t n = 1; n < i.count; ++n) r = value_of(i.op, r, *arg(n));
  return r;
}

}  // namespace touchstone::symbolic
