// The facts and goals of an elimination: implications and substitutions.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "touchstone/prove/elimination.h"
#include "touchstone/symbolic/expr/rebuild.h"

namespace touchstone::prove {

namespace {

bool is_division(ExprOp op) { return op == ExprOp::Div || op == ExprOp::Mod; }

}  // namespace

std::optional<Expr> Elimination::next_division(const State& state) const {
  std::set<Expr> found;
  for (const auto& list : {state.facts, state.goals, state.alternatives})
    for (const Expr root : list)
      for (const Expr e : e_.parts(root))
        if (is_division(e_.op(e)) && !divided(e_.arg(e, 0)) && !divided(e_.arg(e, 1)))
          found.insert(e);
  if (found.empty()) return std::nullopt;
  const auto weight = [&](Expr e) {
    return std::pair(e_.size(e_.arg(e, 1)) + e_.size(e_.arg(e, 0)), e);
  };
  return *std::ranges::min_element(found, {}, weight);
}

Expr Elimination::between(Expr remainder, Expr divisor, Sign sign) {
  const Expr zero = e_.constant(0);
  const Expr above =
      apply(ExprOp::And, apply(ExprOp::Le, zero, remainder), apply(ExprOp::Lt, remainder, divisor));
  if (sign == Sign::Positive) return above;
  const Expr below =
      apply(ExprOp::And, apply(ExprOp::Lt, divisor, remainder), apply(ExprOp::Le, remainder, zero));
  return sign == Sign::Negative ? below : apply(ExprOp::Or, above, below);
}

Expr Elimination::sum_of(const Let& let) {
  return apply(ExprOp::Add, apply(ExprOp::Mul, let.divisor, let.quotient), let.remainder);
}

std::optional<Polynomial> Elimination::polynomial(const State& state, Expr root) {
  auto p = Polynomial::of(e_, root);
  constexpr int kMostRewrites = 50;
  for (int i = 0; p && i < kMostRewrites; ++i) {
    // Replaces a written product, k*d = c*q + r, where it divides a term.
    bool changed = false;
    for (const Let& let : state.written) {
      const auto number = Polynomial::of(e_, let.number);
      if (!number || number->terms().size() != 1 || !number->terms().begin()->second.is_one())
        continue;
      const Monomial& product = number->terms().begin()->first;
      const auto sum = Polynomial::of(e_, sum_of(let));
      if (!sum || product.size() < 2) continue;
      for (const auto& [m, c] : p->terms()) {
        const auto rest = without(m, product);
        if (!rest) continue;
        Polynomial factor;
        factor.add(*rest, c);
        const auto more = sum->times(factor);
        if (!more) return std::nullopt;
        const Monomial gone = m;
        const Int coefficient = c;
        p->add(gone, -coefficient);
        p->add(*more);
        changed = true;
        break;
      }
      if (changed) break;
    }
    if (!changed) return p;
  }
  return p;
}

bool Elimination::divided(Expr root) const {
  return std::ranges::any_of(e_.parts(root), [&](Expr e) { return is_division(e_.op(e)); });
}

bool Elimination::implied(const State& state, Expr goal) {
  if (e_.is_constant(goal)) return !e_.value(goal).is_zero();
  std::vector<Expr> facts;
  for (const Expr f : state.facts)
    if (!divided(f)) facts.push_back(f);
  if (std::ranges::find(facts, goal) != facts.end()) return true;
  const auto [at, fresh] = answers_.emplace(std::pair(facts, goal), false);
  if (fresh && --questions_left_ >= 0) at->second = ask_(e_, facts, goal);
  return at->second;
}

Elimination::Sign Elimination::sign_of(const State& state, Expr divisor) {
  const Expr zero = e_.constant(0);
  if (e_.is_constant(divisor)) {
    const int sign = e_.value(divisor).sign();
    return sign > 0 ? Sign::Positive : sign < 0 ? Sign::Negative : Sign::Unknown;
  }
  if (implied(state, apply(ExprOp::Lt, zero, divisor))) return Sign::Positive;
  if (implied(state, apply(ExprOp::Lt, divisor, zero))) return Sign::Negative;
  return implied(state, apply(ExprOp::Ne, divisor, zero)) ? Sign::Nonzero : Sign::Unknown;
}

void Elimination::replace(State& state, const std::function<Expr(Expr)>& rewrite) {
  for (Expr& f : state.facts) f = rewrite(f);
  for (Expr& g : state.goals) g = rewrite(g);
  for (Expr& a : state.alternatives) a = rewrite(a);
  for (Expr& d : state.divisors) d = rewrite(d);
  for (auto* list : {&state.written, &state.witness})
    for (Let& let : *list)
      let = {rewrite(let.number), rewrite(let.divisor), rewrite(let.quotient),
             rewrite(let.remainder)};
}

void Elimination::replace_variable(State& state, Expr variable, Expr by) {
  const std::map<std::string, Expr, std::less<>> now{{e_.name(variable), by}};
  replace(state, [&](Expr root) { return e_.substitute(root, now); });
}

void Elimination::replace_parts(State& state, const std::function<std::optional<Expr>(Expr)>& by) {
  replace(state, [&](Expr root) { return symbolic::replaced(e_, root, by); });
}

void Elimination::replace_part(State& state, Expr part, Expr value) {
  replace_parts(state, [&](Expr e) { return e == part ? std::optional(value) : std::nullopt; });
}

void Elimination::replace_division(State& state, Expr number, Expr divisor, Expr quotient,
                                   Expr remainder) {
  replace_parts(state, [&](Expr e) -> std::optional<Expr> {
    const ExprOp op = e_.op(e);
    if (!is_division(op) || e_.arg(e, 0) != number || e_.arg(e, 1) != divisor) return std::nullopt;
    return op == ExprOp::Div ? quotient : remainder;
  });
}

Expr Elimination::fresh(const char* stem) {
  for (int i = 1;; ++i) {
    std::string name = fmt::format("{}{}", stem, i);
    if (std::ranges::find(names_, name) != names_.end()) continue;
    names_.push_back(name);
    return e_.variable(name);
  }
}

}  // namespace touchstone::prove
