#include "touchstone/symbolic/check/definedness.h"

#include <algorithm>
#include <set>

#include "touchstone/symbolic/expr/operators.h"

namespace touchstone::symbolic {

namespace {

bool may_divide_by_zero(const Exprs& e, Expr x) {
  return divides(e.op(x)) && (!e.is_constant(e.arg(x, 1)) || e.value(e.arg(x, 1)).is_zero());
}

/// Treatment of an `and` or `or` operand, since either operand may be evaluated first.
enum class BesideUndefined : std::uint8_t {
  Skipped,    // skipped if the other operand decides
  Evaluated,  // evaluated if the other operand may be undefined
};

std::vector<Division> divisions(Exprs& e, Ring& ring, Expr root, BesideUndefined beside) {
  std::vector<Division> found;
  if (has_value(e, root)) return found;
  std::vector<std::pair<Expr, Division>> todo{{root, {0, 0, {}, ring.constant(1)}}};
  std::set<std::pair<Expr, PolyId>> seen;  // a part repeated under one guard counts once
  const auto within = [&](Division at, Expr condition, bool holds) {
    at.where.push_back(holds ? condition : e.apply(ExprOp::Not, {condition}));
    at.guard = ring.multiply(at.guard, ring.truth(at.where.back()));
    return at;
  };
  while (!todo.empty()) {
    const auto [x, at] = std::move(todo.back());
    todo.pop_back();
    if (!seen.emplace(x, at.guard).second) continue;
    const std::vector<Expr> args(e.args(x).begin(), e.args(x).end());
    const ExprOp op = e.op(x);
    if (may_divide_by_zero(e, x)) {
      found.push_back(at);
      found.back().written = args[1];
      found.back().divisor = ring.normal(args[1]);
    }
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (op == ExprOp::Where && i > 0)
        todo.emplace_back(args[i], within(at, args[0], i == 1));
      else if ((op == ExprOp::And || op == ExprOp::Or) &&
               (beside == BesideUndefined::Skipped || has_value(e, args[1 - i])))
        todo.emplace_back(args[i], within(at, args[1 - i], op == ExprOp::And));
      else
        todo.emplace_back(args[i], at);
    }
  }
  return found;
}

}  // namespace

bool has_value(const Exprs& e, Expr root) {
  return std::ranges::none_of(e.parts(root), [&](Expr x) { return may_divide_by_zero(e, x); });
}

std::vector<Division> divisions_of(Exprs& e, Ring& ring, Expr root) {
  return divisions(e, ring, root, BesideUndefined::Skipped);
}

Definedness::Definedness(Exprs& e, Ring& ring, std::span<const Expr> facts,
                         std::vector<Division> computed)
    : e_(e),
      ring_(ring),
      budget_{4 * kLimits.cases, 4 * kLimits.entailed_bounds, ring.terms() + 1'000'000},
      facts_(e, ring) {
  facts_.spend_from(&budget_);
  for (const Expr f : facts) facts_.assume(f);
  for (Division& x : computed) add(std::move(x));
}

void Definedness::add(Division x) {
  if (x.where.empty()) facts_.assume_nonzero(x.divisor);
  computed_.push_back(std::move(x));
}

bool Definedness::not_zero(const Division& x) {
  if (budget_.bounds < 0) return false;
  budget_.bounds -= static_cast<int>(computed_.size());
  const auto implied = [&](const Division& y) {
    return ring_.multiply(x.guard, y.guard) == x.guard;
  };
  const auto same = [&](const Division& y) {
    return y.divisor == x.divisor || y.divisor == ring_.add(ring_.constant(0), x.divisor, -1);
  };
  if (std::ranges::any_of(computed_, [&](const Division& y) { return same(y) && implied(y); }))
    return true;
  Entailment known = facts_;
  for (const Expr condition : x.where) known.assume(condition);
  const auto evaluated = [&](Entailment& there, const Division& y) {
    return std::ranges::all_of(y.where, [&](Expr condition) {
      return has_value(e_, condition) && there.holds(condition);
    });
  };
  Entailment zero = known;  // assuming the divisor is 0
  zero.assume_zero(x.divisor);
  if (std::ranges::any_of(computed_, [&](const Division& y) {
        return (same(y) || zero.zero_by_cases(y.divisor)) && evaluated(zero, y);
      }))
    return true;
  std::vector<PolyId> others;  // divisors of divisions evaluated wherever this one is
  for (const Division& y : computed_)
    if (implied(y) || evaluated(known, y)) others.push_back(y.divisor);
  for (const PolyId p : others) known.assume_nonzero(p);
  return known.nonzero(x.divisor) || known.contradictory();
}

std::optional<Expr> Definedness::zero_divisor(Expr root) {
  for (const Division& x : divisions(e_, ring_, root, BesideUndefined::Evaluated))
    if (!not_zero(x)) return x.written;
  return std::nullopt;
}

void Definedness::assume_value(Expr root) {
  for (Division& x : divisions_of(e_, ring_, root)) add(std::move(x));
}

}  // namespace touchstone::symbolic
