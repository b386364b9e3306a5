#include "touchstone/decide/residues.h"

#include <fmt/format.h>

namespace touchstone::decide {

namespace {

using prove::Expr;
using prove::ExprOp;
using prove::Exprs;
using prove::Int;

/// Finds periods: numbers P such that an expression keeps its value, or its remainder by a modulus,
/// when any variable grows by P.
class Periods {
 public:
  Periods(const Exprs& exprs, Int most) : e_(exprs), most_(std::move(most)) {}

  /// modulus 0: of the value itself. nullopt if none is known up to the limit.
  std::optional<Int> of(Expr e, const Int& modulus) {
    const auto [place, fresh] = known_.try_emplace({e, modulus});
    if (fresh) place->second = found(e, modulus);
    return place->second;
  }

 private:
  std::optional<Int> of_all(Expr e, const Int& modulus) {
    Int period = 1;
    for (const Expr a : e_.args(e)) {
      const auto own = of(a, modulus);
      if (!own) return std::nullopt;
      period = period * floor_div(*own, gcd(period, *own));
      if (period > most_) return std::nullopt;
    }
    return period;
  }

  std::optional<Int> found(Expr e, const Int& modulus) {
    const auto number = [&](std::size_t i) {
      const Expr a = e_.arg(e, i);
      return e_.is_constant(a) ? std::optional<Int>(e_.value(a)) : std::nullopt;
    };
    switch (e_.op(e)) {
      case ExprOp::Constant: return Int(1);
      case ExprOp::Variable:
        return modulus.is_zero() || modulus > most_ ? std::nullopt : std::optional<Int>(modulus);
      case ExprOp::Mul:
        for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
          if (const auto k = number(i); k && !k->is_zero() && !modulus.is_zero())
            return of(e_.arg(e, 1 - i), floor_div(modulus, gcd(modulus, *k)));
        [[fallthrough]];
      case ExprOp::Add:
      case ExprOp::Sub:
      case ExprOp::Neg: return of_all(e, modulus);
      case ExprOp::Div: {  // grows by a multiple of the modulus if the dividend does, divisor times
        const auto d = number(1);
        return d && d->sign() > 0 ? of(e_.arg(e, 0), modulus * *d) : std::nullopt;
      }
      case ExprOp::Mod: {
        const auto d = number(1);
        if (!d || d->is_zero()) return std::nullopt;
        const Int divisor = abs(*d);
        const bool same = !modulus.is_zero() && symbolic::divides(modulus, divisor);
        return of(e_.arg(e, 0), same ? modulus : divisor);
      }
      case ExprOp::TruncDiv:
      case ExprOp::TruncMod:
        if (!number(1) || number(1)->is_zero()) return std::nullopt;
        [[fallthrough]];
      default: return of_all(e, 0);
    }
  }

  const Exprs& e_;
  Int most_;
  std::map<std::pair<Expr, Int>, std::optional<Int>> known_;
};

}  // namespace

ByResidues by_residues(const prove::Claim& claim, std::size_t most) {
  const Int limit = static_cast<std::int64_t>(most);
  Periods periods(claim.exprs, limit);
  Int period = 1;
  const auto join = [&](const std::optional<Int>& own) {
    if (own) period = period * floor_div(*own, gcd(period, *own));
    return own.has_value();
  };
  if (!join(periods.of(claim.lhs, 0)) || !join(periods.of(claim.rhs, 0)))
    return {false, std::nullopt, "a side has no period"};
  prove::Claim periodic = claim;
  std::erase_if(periodic.when, [&](Expr fact) { return !join(periods.of(fact, 0)); });
  prove::Points points(periodic);
  Int count = 1;
  for (std::size_t i = 0; i < points.names().size() && count <= limit; ++i) count = count * period;
  if (count > limit)
    return {false, std::nullopt,
            fmt::format("the period {} makes more than {} points", period.str(), most)};
  const prove::Box box = prove::box_of(claim);
  std::vector<Int> point(points.names().size());
  bool fails = false;
  for (;;) {
    if (points.at(point) == prove::Points::At::Fails) {
      fails = true;
      std::map<std::string, Int> shifted;  // into the ranges
      for (std::size_t i = 0; i < point.size(); ++i) {
        const auto range = box.ranges.find(points.names()[i]);
        Int& x = shifted[points.names()[i]] = point[i];
        if (range == box.ranges.end()) continue;
        if (range->second.lo)
          x = *range->second.lo + floor_mod(x - *range->second.lo, period);
        else if (range->second.hi)
          x = *range->second.hi - floor_mod(*range->second.hi - x, period);
      }
      if (auto found = counterexample_at(claim, shifted)) return {false, std::move(found), ""};
    }
    std::size_t i = 0;
    while (i < point.size() && point[i] == period - 1) point[i++] = 0;
    if (i == point.size()) break;
    point[i] += 1;
  }
  return {!fails, std::nullopt,
          fails
              ? fmt::format("false for some residues by {}, which no point tried has", period.str())
              : ""};
}

}  // namespace touchstone::decide
