#include "touchstone/prove/polynomial.h"

#include <algorithm>

namespace touchstone::prove {

namespace {

constexpr std::size_t kMostTerms = 200;
constexpr std::size_t kMostFactors = 60;

}  // namespace

Polynomial::Polynomial(const Int& constant) { add(Monomial{}, constant); }

void Polynomial::add(const Monomial& monomial, const Int& factor) {
  if (factor.is_zero()) return;
  const auto [at, fresh] = terms_.emplace(monomial, factor);
  if (fresh) return;
  at->second += factor;
  if (at->second.is_zero()) terms_.erase(at);
}

void Polynomial::add(const Polynomial& other, const Int& factor) {
  for (const auto& [m, c] : other.terms_) add(m, c * factor);
}

std::optional<Polynomial> Polynomial::times(const Polynomial& other) const {
  Polynomial r;
  if (terms_.size() * other.terms_.size() > kMostTerms * 4) return std::nullopt;
  for (const auto& [m, c] : terms_)
    for (const auto& [n, d] : other.terms_) {
      Monomial product;
      std::ranges::merge(m, n, std::back_inserter(product));
      if (product.size() > kMostFactors) return std::nullopt;
      r.add(product, c * d);
    }
  if (r.terms_.size() > kMostTerms) return std::nullopt;
  return r;
}

std::optional<Polynomial> Polynomial::of(const Exprs& exprs, Expr root) {
  std::map<Expr, Polynomial> known;
  for (const Expr e : exprs.parts(root)) {
    Polynomial p;
    switch (exprs.op(e)) {
      case ExprOp::Constant: p = Polynomial(exprs.value(e)); break;
      case ExprOp::Neg: p.add(known.at(exprs.arg(e, 0)), -1); break;
      case ExprOp::Add:
      case ExprOp::Sub:
        p = known.at(exprs.arg(e, 0));
        p.add(known.at(exprs.arg(e, 1)), exprs.op(e) == ExprOp::Add ? 1 : -1);
        if (p.terms_.size() > kMostTerms) return std::nullopt;
        break;
      case ExprOp::Mul: {
        auto product = known.at(exprs.arg(e, 0)).times(known.at(exprs.arg(e, 1)));
        if (!product) return std::nullopt;
        p = std::move(*product);
        break;
      }
      default: p.add(Monomial{e}, 1);
    }
    known.emplace(e, std::move(p));
  }
  return known.at(root);
}

std::optional<Polynomial> Polynomial::difference(const Exprs& exprs, Expr a, Expr b) {
  auto gap = of(exprs, a);
  const auto other = of(exprs, b);
  if (!gap || !other) return std::nullopt;
  gap->add(*other, -1);
  return gap;
}

std::vector<std::pair<Expr, int>> Polynomial::lone_variables(const Exprs& exprs) const {
  std::vector<std::pair<Expr, int>> found;
  for (const auto& [m, c] : terms_) {
    if (m.size() != 1 || !abs(c).is_one() || exprs.op(m[0]) != ExprOp::Variable) continue;
    bool alone = true;
    for (const auto& [n, d] : terms_)
      for (const Expr factor : n) {
        if (n == m) continue;
        for (const Expr part : exprs.parts(factor)) alone &= part != m[0];
      }
    if (alone) found.emplace_back(m[0], c.sign());
  }
  return found;
}

Expr expr_of(Exprs& exprs, const Polynomial& p) {
  // Longer products first, the constant last.
  std::vector<std::pair<Monomial, Int>> terms(p.terms().begin(), p.terms().end());
  std::ranges::sort(terms, [](const auto& a, const auto& b) {
    if (a.first.size() != b.first.size()) return a.first.size() > b.first.size();
    if (a.second.sign() != b.second.sign()) return a.second.sign() > b.second.sign();
    return a.first < b.first;
  });
  std::optional<Expr> sum;
  for (const auto& [m, c] : terms) {
    const Int size = abs(c);
    std::optional<Expr> term;
    if (m.empty() || !size.is_one()) term = exprs.constant(size);
    for (const Expr f : m) term = term ? exprs.apply(ExprOp::Mul, {*term, f}) : f;
    if (!sum)
      sum = c.sign() < 0 ? exprs.apply(ExprOp::Neg, {*term}) : *term;
    else
      sum = exprs.apply(c.sign() < 0 ? ExprOp::Sub : ExprOp::Add, {*sum, *term});
  }
  return sum ? *sum : exprs.constant(0);
}

std::optional<Monomial> without(const Monomial& m, const Monomial& factors) {
  if (!std::ranges::includes(m, factors)) return std::nullopt;
  Monomial rest;
  std::ranges::set_difference(m, factors, std::back_inserter(rest));
  return rest;
}

std::optional<Division> divide(const Polynomial& p, const Polynomial& divisor) {
  constexpr int kMostSteps = 100;
  if (divisor.is_zero()) return std::nullopt;
  auto lead = divisor.terms().begin();
  for (auto t = lead; t != divisor.terms().end(); ++t)
    if (t->first.size() > lead->first.size()) lead = t;
  Division d{{}, p};
  Int factor;
  for (int step = 0; step < kMostSteps; ++step) {
    Polynomial part;
    for (const auto& [m, c] : d.remainder.terms()) {
      const auto rest = without(m, lead->first);
      if (!rest) continue;
      const Int q =
          lead->second.sign() > 0 ? floor_div(c, lead->second) : -floor_div(c, -lead->second);
      if (q.is_zero()) continue;
      part.add(*rest, q);
      break;
    }
    if (part.is_zero()) return d;
    const auto taken = part.times(divisor);
    if (!taken) return std::nullopt;
    d.quotient.add(part);
    d.remainder.add(*taken, -1);
  }
  return std::nullopt;
}

}  // namespace touchstone::prove
