#include "touchstone/symbolic/node/node_expr.h"

#include <algorithm>

namespace touchstone::symbolic {

Expr NodeExprs::of(Id root) {
  if (const auto found = known_.find(root); found != known_.end()) return found->second;
  for (const Id id : reachable(c_, root))
    if (!known_.contains(id)) known_.emplace(id, build(c_[id]));
  return known_.at(root);
}

Expr NodeExprs::of(const Linear& s) {
  for (const Term& t : s.terms) of(t.atom);
  return sum(s.constant, s.terms);
}

Expr NodeExprs::sum(const Int& constant, std::span<const Term> terms) {
  std::optional<Expr> r;
  const auto put = [&](const Int& coef, Expr atom) {
    const Int size = r ? abs(coef) : coef;
    const Expr part = size.is_one()     ? atom
                      : size == Int(-1) ? e_.apply(ExprOp::Neg, {atom})
                                        : e_.apply(ExprOp::Mul, {atom, e_.constant(size)});
    r = !r ? part : e_.apply(coef.sign() > 0 ? ExprOp::Add : ExprOp::Sub, {*r, part});
  };
  for (const Term& t : terms)
    if (t.coef.sign() > 0) put(t.coef, known_.at(t.atom));
  bool spent = constant.is_zero();
  if (!r && (constant.sign() > 0 || terms.empty())) {
    r = e_.constant(constant);
    spent = true;
  }
  for (const Term& t : terms)
    if (t.coef.sign() < 0) put(t.coef, known_.at(t.atom));
  if (spent) return *r;
  return e_.apply(constant.sign() > 0 ? ExprOp::Add : ExprOp::Sub,
                  {*r, e_.constant(abs(constant))});
}

Expr NodeExprs::difference(const Int& constant, std::span<const Term> terms, ExprOp comparison) {
  Terms left, right;
  for (const Term& t : terms) (t.coef.sign() > 0 ? left : right).push_back({abs(t.coef), t.atom});
  const bool alone = right.empty();
  const Expr a = sum(!alone && constant.sign() > 0 ? constant : Int(0), left);
  const Expr b = sum(alone || constant.sign() < 0 ? -constant : Int(0), right);
  return e_.apply(comparison, {a, b});
}

Expr NodeExprs::folded(ExprOp op, std::span<const Id> args) {
  Expr r = known_.at(args[0]);
  for (const Id a : args.subspan(1)) r = e_.apply(op, {r, known_.at(a)});
  return r;
}

/// True for a flag by kind, not only by bounds.
bool NodeExprs::is_flag(Id id) const {
  const NodeData& n = c_[id];
  if (n.kind == NodeKind::Sum && n.first.is_one() && n.terms.size() == 1 &&
      n.terms[0].coef == Int(-1))
    id = n.terms[0].atom;
  const NodeKind kind = c_.kind(id);
  return kind == NodeKind::Negative || kind == NodeKind::Zero || kind == NodeKind::And;
}

Expr NodeExprs::build(const NodeData& n) {
  const auto arg = [&](std::size_t i) { return known_.at(n.args[i]); };
  switch (n.kind) {
    case NodeKind::Constant: return e_.constant(n.first);
    case NodeKind::Variable: return e_.variable(*n.name);
    case NodeKind::Product: return folded(ExprOp::Mul, n.args);
    case NodeKind::Digit: {
      Expr r = arg(0);
      if (!n.first.is_one()) r = e_.apply(ExprOp::Div, {r, e_.constant(n.first)});
      if (!n.second.is_zero())
        r = e_.apply(ExprOp::Mod, {r, e_.constant(floor_div(n.second, n.first))});
      return r;
    }
    case NodeKind::Div: return e_.apply(ExprOp::Div, {arg(0), arg(1)});
    case NodeKind::Mod: return e_.apply(ExprOp::Mod, {arg(0), arg(1)});
    case NodeKind::TruncDiv: return e_.apply(ExprOp::TruncDiv, {arg(0), arg(1)});
    case NodeKind::TruncMod: return e_.apply(ExprOp::TruncMod, {arg(0), arg(1)});
    case NodeKind::Negative:
    case NodeKind::Zero: {
      const Linear s = linear_of(c_, n.args[0]);
      return difference(s.constant, s.terms, n.kind == NodeKind::Zero ? ExprOp::Eq : ExprOp::Lt);
    }
    case NodeKind::And:
      return folded(
          std::ranges::all_of(n.args, [&](Id a) { return is_flag(a); }) ? ExprOp::And : ExprOp::Mul,
          n.args);
    case NodeKind::Select:
      if (!is_flag(n.args[0])) return e_.apply(ExprOp::Mul, {arg(0), arg(1)});
      return e_.apply(ExprOp::Where, {arg(0), arg(1), e_.constant(0)});
    case NodeKind::Max: {
      std::vector<Expr> members{e_.constant(0)};
      for (const Id a : n.args) members.push_back(known_.at(a));
      return e_.apply(ExprOp::Max, members);
    }
    case NodeKind::Sum: break;
  }
  return sum(n.first, n.terms);
}

}  // namespace touchstone::symbolic
