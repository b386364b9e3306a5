#include "touchstone/symbolic/derive/ring_text.h"

#include <algorithm>

namespace touchstone::symbolic {

Expr RingText::of_atom(AtomId a) {
  const Atom& n = ring_.atom(a);
  if (n.kind == AtomKind::Variable) return e_.variable(n.name);
  const auto sides = [&](PolyId p, Expr& left, Expr& right) {  // left - right is p
    PolyId plus = ring_.constant(0), minus = plus;
    const Poly poly = ring_[p];
    for (const auto& [m, c] : poly.terms) {
      PolyId& side = c.sign() > 0 ? plus : minus;
      side = ring_.add(side, ring_.monomial(m, abs(c)));
    }
    left = of(plus);
    right = of(minus);
  };
  Expr left = 0, right = 0;
  switch (n.kind) {
    case AtomKind::Quotient:
    case AtomKind::Remainder:
      left = of(n.parts[0]);
      right = of(n.parts[1]);
      return e_.apply(n.kind == AtomKind::Quotient ? ExprOp::Div : ExprOp::Mod, {left, right});
    case AtomKind::Product:
      left = of(n.parts[0]);
      for (std::size_t i = 1; i < n.parts.size(); ++i) {
        right = of(n.parts[i]);
        left = e_.apply(ExprOp::Mul, {left, right});
      }
      return left;
    case AtomKind::Negative:
    case AtomKind::Zero:
      sides(n.parts[0], left, right);
      return e_.apply(n.kind == AtomKind::Negative ? ExprOp::Lt : ExprOp::Eq, {left, right});
    default: break;
  }
  std::vector<Expr> members{e_.constant(0)};
  for (const PolyId p : n.parts) members.push_back(of(p));
  return e_.apply(ExprOp::Max, members);
}

Expr RingText::of(PolyId root) {
  if (const auto found = written_.find(root); found != written_.end()) return found->second;
  // Terms with the same flags form one choice.
  std::map<Monomial, Poly> by_flags;
  const Poly poly = ring_[root];
  for (const auto& [m, c] : poly.terms) {
    Monomial flags, rest;
    for (const AtomId a : m) (ring_.is_flag(a) ? flags : rest).push_back(a);
    by_flags[flags].terms.emplace_back(rest, c);
  }
  std::vector<std::pair<Int, Expr>> items;
  Int constant = 0;
  for (const auto& [flags, part] : by_flags) {
    Expr condition = 0;
    for (std::size_t i = 0; i < flags.size(); ++i) {
      const Expr f = of_atom(flags[i]);
      condition = i == 0 ? f : e_.apply(ExprOp::And, {condition, f});
    }
    if (!flags.empty()) {
      if (part.is_constant()) {
        items.emplace_back(part.constant(), condition);
      } else {
        PolyId terms = ring_.constant(0);
        for (const auto& [m, c] : part.terms) terms = ring_.add(terms, ring_.monomial(m, c));
        const Expr value = of(terms);
        items.emplace_back(1, e_.apply(ExprOp::Where, {condition, value, e_.constant(0)}));
      }
      continue;
    }
    for (const auto& [m, c] : part.terms) {
      if (m.empty()) {
        constant = c;
        continue;
      }
      Expr product = of_atom(m[0]);
      for (std::size_t i = 1; i < m.size(); ++i)
        product = e_.apply(ExprOp::Mul, {product, of_atom(m[i])});
      items.emplace_back(c, product);
    }
  }
  if (!constant.is_zero()) items.emplace_back(constant, e_.constant(1));
  decltype(items) ordered;  // added terms, then subtracted ones
  for (const bool positive : {true, false})
    for (const auto& item : items)
      if ((item.first.sign() > 0) == positive) ordered.push_back(item);
  std::optional<Expr> sum;
  for (const auto& [c, e] : ordered) {
    const Int size = sum ? abs(c) : c;
    Expr term = e_.is_constant(e, 1) ? e_.constant(size)
                : size.is_one()      ? e
                : size == Int(-1)    ? e_.apply(ExprOp::Neg, {e})
                                     : e_.apply(ExprOp::Mul, {e, e_.constant(size)});
    sum = !sum ? term : e_.apply(c.sign() > 0 ? ExprOp::Add : ExprOp::Sub, {*sum, term});
  }
  const Expr written = sum.value_or(e_.constant(0));
  written_.emplace(root, written);
  return written;
}

}  // namespace touchstone::symbolic
