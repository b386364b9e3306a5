#include <algorithm>

#include "touchstone/symbolic/order.h"
#include "touchstone/symbolic/simplifier.h"

namespace touchstone::symbolic {

namespace {

Int common_factor(const Linear& s) {
  Int g;
  for (const Term& t : s.terms) g = gcd(g, t.coef);
  return g;
}

}  // namespace

Id Simplifier::negative(Linear s) {
  for (;;) {
    const Interval range = bounds(s);
    if (range.at_most(-1)) return c_.make_constant(1);
    if (range.at_least(0)) return c_.make_constant(0);
    if (range.within(-1, 0)) return build(-s);  // lt.flag
    const Int g = common_factor(s);
    if (!g.is_one()) {  // lt.gcd
      for (Term& t : s.terms) t.coef = floor_div(t.coef, g);
      s.constant = floor_div(s.constant, g);
      continue;
    }
    bool changed = false;
    for (const Term& t : s.terms) {
      const Int factor = abs(t.coef);
      if (factor.is_one()) continue;
      if (auto parts = split(s, factor, true)) {  // lt.split
        s = std::move(parts->quotient);
        changed = true;
        break;
      }
    }
    if (changed) continue;
    const Id id = build(s);
    Linear joined = linear(id);
    if (!(joined == s)) {
      s = std::move(joined);
      continue;
    }
    const Id args[] = {id};
    return c_.make(Kind::Negative, args, Interval{Int(0), Int(1)});
  }
}

Id Simplifier::zero(Linear s) {
  s = linear(build(s));
  const Interval range = bounds(s);
  if (s.is_constant()) return c_.make_constant(s.constant.is_zero() ? 1 : 0);
  if (range.at_least(1) || range.at_most(-1)) return c_.make_constant(0);
  const Int g = common_factor(s);
  if (!divides(g, s.constant)) return c_.make_constant(0);  // eq.gcd
  if (!g.is_one()) {
    for (Term& t : s.terms) t.coef = floor_div(t.coef, g);
    s.constant = floor_div(s.constant, g);
    return zero(std::move(s));
  }
  if (range.within(0, 1)) return negate(build(s));
  if (range.within(-1, 0)) return negate(build(-s));
  if (s.terms[0].coef.sign() < 0) s = -s;
  const Id args[] = {build(s)};
  return c_.make(Kind::Zero, args, Interval{Int(0), Int(1)});
}

Id Simplifier::truth(Id id) {
  if (c_[id].boolean) return id;
  return negate(zero(linear(id)));
}

Id Simplifier::negate(Id boolean) {
  const NodeData& n = c_[boolean];
  if (n.kind == Kind::Negative) {  // lt.not
    Linear s = -linear(n.args[0]);
    s.constant -= 1;
    return negative(std::move(s));
  }
  Linear r{1, {}};
  add(r, boolean, -1);
  return build(r);
}

Ids Simplifier::part_list(std::span<const Id> booleans) {
  constexpr std::size_t kMostFlat =
      256;  // longer lists nest, so that building one is not quadratic
  Ids parts;
  for (const Id raw : booleans) {
    const Id id = truth(raw);
    const NodeData& n = c_[id];
    if (n.kind == Kind::And && n.args.size() + parts.size() <= kMostFlat)
      parts.insert(parts.end(), n.args.begin(), n.args.end());
    else
      parts.push_back(id);
  }
  std::ranges::sort(parts, [&](Id x, Id y) { return compare(c_, x, y) < 0; });
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return parts;
}

Id Simplifier::both(std::span<const Id> booleans) {
  Ids parts = part_list(booleans);
  Ids kept;
  for (const Id id : parts) {
    const NodeData& n = c_[id];
    if (n.kind == Kind::Constant) {
      if (n.first.is_zero()) return id;
      continue;
    }
    kept.push_back(id);
  }
  for (const Id id : kept)
    if (std::ranges::find(kept, negate(id)) != kept.end()) return c_.make_constant(0);
  if (kept.empty()) return c_.make_constant(1);
  if (kept.size() == 1) return kept[0];
  return c_.make(Kind::And, kept, Interval{Int(0), Int(1)});
}

Id Simplifier::either(std::span<const Id> booleans) {
  Ids negated;
  for (const Id id : booleans) negated.push_back(negate(truth(id)));
  return negate(both(negated));
}

}  // namespace touchstone::symbolic
