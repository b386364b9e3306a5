#include <algorithm>

#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

Linear Simplifier::multiply_atoms(Id a, Id b) {
  for (const auto& [c, d] : {std::pair(a, b), std::pair(b, a)}) {
    if (is_condition(c_.kind(c))) return where(c, linear(d), Linear());
    if (c_.kind(c) == NodeKind::Select)
      return where(c_[c].args[0], multiply(linear(c_[c].args[1]), linear(d)), Linear());
  }
  const auto flag_twice = [&](Id id) { law("mul.flag", "x", id); };
  if (a == b && c_[a].boolean) {
    flag_twice(a);
    return atom(a);
  }
  if (c_.kind(a) == NodeKind::Max && a == b) {
    const Linear subjects[] = {atom(a), atom(b)};
    if (auto found = apply(Rule::Root::Product, subjects)) return *found;
  }
  const std::span<const Id> left = factors(a), right = factors(b);
  Ids all;
  bool shared = false;  // a common factor
  for (std::size_t i = 0, j = 0; i < left.size() || j < right.size();) {
    shared = shared || (i < left.size() && j < right.size() && left[i] == right[j]);
    const bool first =
        j == right.size() || (i < left.size() && compare(c_, left[i], right[j]) <= 0);
    all.push_back(first ? left[i++] : right[j++]);
  }
  if (!shared) return node(NodeKind::Product, all, c_.bounds(a) * c_.bounds(b));
  const auto again = [&](Id x, Id y) {
    if (x != y || !c_[x].boolean) return false;
    flag_twice(x);
    return true;
  };
  all.erase(std::unique(all.begin(), all.end(), again), all.end());
  if (all.size() == 1) return atom(all[0]);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {  // square of a two-valued atom
    const Id x = all[i];
    const Interval& two = c_.bounds(x);
    if (x != all[i + 1] || !two.lo || !two.hi || !(*two.hi - *two.lo).is_one()) continue;
    const Int low = *two.lo;
    law("mul.two_valued", "x", x, "k", low);
    Linear line{-(low * (low + 1)), {}};
    add(line, x, low + low + 1);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i),
              all.begin() + static_cast<std::ptrdiff_t>(i) + 2);
    for (const Id f : all) line = multiply(line, atom(f));
    return line;
  }
  Interval range = Interval::point(1);
  for (std::size_t i = 0; i < all.size();) {
    std::size_t j = i;
    Interval power = Interval::point(1);
    for (; j < all.size() && all[j] == all[i]; ++j) power = power * c_.bounds(all[i]);
    if ((j - i) % 2 == 0) power = meet(power, Interval{Int(0), std::nullopt});
    range = range * power;
    i = j;
  }
  return node(NodeKind::Product, all, range);
}

Linear Simplifier::multiply(const Linear& a, const Linear& b) {
  Linear r;
  if (a.is_constant() || b.is_constant()) {
    add(r, a.is_constant() ? b : a, a.is_constant() ? a.constant : b.constant);
    return r;
  }
  const bool by_one = std::min(a.terms.size(), b.terms.size()) == 1;
  if (a.terms.size() * b.terms.size() >
      (by_one ? kLimits.product_terms_by_one : kLimits.product_terms)) {
    const auto factor = [&](const Linear& s) { return build(s); };
    Id x = factor(a), y = factor(b);
    if (compare(c_, x, y) > 0) std::swap(x, y);
    const Id both[] = {x, y};
    return node(NodeKind::Product, both, c_.bounds(x) * c_.bounds(y));
  }
  r.constant = a.constant * b.constant;
  add(r, Linear{0, a.terms}, b.constant);
  add(r, Linear{0, b.terms}, a.constant);
  for (const Term& x : a.terms)
    for (const Term& y : b.terms) add(r, multiply_atoms(x.atom, y.atom), x.coef * y.coef);
  return r;
}

Id Simplifier::product(Id a, Id b) {
  if (compare(c_, a, b) > 0) std::swap(a, b);
  return build(multiply(linear(a), linear(b)));
}

// Digits as factors of products: for each cofactor they are opened and joined like plain digits, so
// that a sum of products has one form whether written with remainders or with quotients.

std::span<const Id> Simplifier::factors(const Id& atom) const {
  const NodeData& n = c_[atom];
  return n.kind == NodeKind::Product ? n.args : std::span<const Id>(&atom, 1);
}

bool Simplifier::opens(Id atom) const {
  const NodeData& n = c_[atom];
  return n.kind == NodeKind::Product && n.args.size() <= kLimits.joined_factors &&
         c_.height(atom) <= kLimits.turned_height;
}

bool Simplifier::cofactors_meet(const Linear& s) {
  for (const Term& t : s.terms) {
    if (!opens(t.atom)) continue;
    for (const Id f : factors(t.atom)) {
      if (c_.kind(f) != NodeKind::Digit) continue;
      const unsigned own = c_.variables_in(f);
      for (const Term& u : s.terms)
        if (u.atom != t.atom && opens(u.atom) && (c_.variables_in(u.atom) & own) != 0) return true;
    }
  }
  return false;
}

Linear Simplifier::opened(Id atom, int& steps) {
  Linear r{1, {}};
  for (const Id f : Ids(factors(atom).begin(), factors(atom).end())) {
    const NodeData& n = c_[f];
    if (n.kind != NodeKind::Digit) {
      r = multiply(r, linear(f));
      continue;
    }
    const Linear number = linear(n.args[0]);
    const Int low = n.first, high = n.second;
    Linear open;
    if (high.is_zero()) {
      add_turned(open, linear(f), 1, steps);
    } else {
      const Int ratio = floor_div(high, low);
      law("digit.merge", "x", number, "a", low, "d", ratio, "k", 1);
      add_turned(open, digit(number, low, 0), 1, steps);
      add_turned(open, digit(number, high, 0), -ratio, steps);
    }
    r = multiply(r, open);
  }
  return r;
}

bool Simplifier::recombine_products(Linear& s) {
  if (s.terms.size() > kLimits.joined_terms || !cofactors_meet(s)) return false;
  const Trace::Mark start = mark();
  Linear open{s.constant, {}};
  int steps = kLimits.turned_quotients;
  for (const Term& t : s.terms)
    if (opens(t.atom))
      add(open, opened(t.atom, steps), t.coef);
    else
      add(open, t.atom, t.coef);
  // Each cofactor of a quotient, in order.
  Ids cofactors;
  for (const Term& t : open.terms) {
    if (!opens(t.atom)) continue;
    const Ids all(factors(t.atom).begin(), factors(t.atom).end());
    for (const Id f : all)
      if (c_.kind(f) == NodeKind::Digit)
        if (const Id rest = without(t.atom, {&f, 1});
            std::ranges::find(cofactors, rest) == cofactors.end())
          cofactors.push_back(rest);
  }
  std::ranges::sort(cofactors, [&](Id a, Id b) { return compare(c_, a, b) > 0; });
  for (const Id cofactor : cofactors) {
    const Ids own(factors(cofactor).begin(), factors(cofactor).end());
    Linear beside{open.constant, {}}, joint;
    for (const Term& t : open.terms) {
      const bool wide = factors(t.atom).size() > kLimits.joined_factors;
      const Id rest = wide ? kNoNode : without(t.atom, own);
      if (rest == kNoNode || c_.kind(rest) == NodeKind::Product)
        beside.terms.push_back(t);
      else
        add(joint, rest, t.coef);
    }
    const Id joined = build(joint);
    if (is(joined, joint)) continue;
    add(beside, multiply(linear(cofactor), linear(joined)));
    open = std::move(beside);
  }
  if (open == s) {
    rewind(start);
    return false;
  }
  s = std::move(open);
  return true;
}

// In a dividend, coefficients count modulo the divisor. The terms a*y + b*(y % d) equal
// (a + b)*y - b*d*(y // d), and b counts modulo the least b for which b*d is a multiple of the
// divisor: take the cheapest of these forms, however the dividend was written.
std::optional<Linear> Simplifier::turn_beside(Linear& s, const Int& lo) {
  const auto product = [&](const Term& t) { return c_.kind(t.atom) == NodeKind::Product; };
  if (s.terms.size() < 2 || std::ranges::none_of(s.terms, product)) return std::nullopt;
  const auto cost = [&](const Linear& sum) {
    Int total;
    for (const Term& t : sum.terms) {
      const Int up = floor_mod(t.coef, lo), down = lo - up;
      if (!up.is_zero()) total += (up < down ? up : down) + 2;
    }
    return total;
  };
  for (const Term& t : s.terms) {
    const std::span<const Id> all = factors(t.atom);
    if (all.size() > kLimits.joined_factors) continue;
    for (const Id f : all) {
      const NodeData& n = c_[f];
      if (n.kind != NodeKind::Digit || c_.height(f) > kLimits.turned_height) continue;
      const unsigned own = c_.variables_in(f);
      if (std::ranges::none_of(s.terms, [&](const Term& u) {
            return u.atom != t.atom && (own & ~c_.variables_in(u.atom)) == 0;
          }))
        continue;
      const bool quotient = n.second.is_zero();
      const Int from = quotient ? Int(1) : n.first, end = quotient ? n.first : n.second;
      const Int turns = floor_div(end, from);
      const Int now = quotient ? Int(0) : t.coef;
      Int least = floor_mod(now, floor_div(lo, gcd(lo, turns)));
      if (quotient) {
        const auto multiple = solved(turns, t.coef, lo);
        if (!multiple) continue;
        least = multiple->residue;
      }
      const Linear number = linear(n.args[0]);
      if (from.is_one() && number.terms.size() > s.terms.size()) continue;
      const Trace::Mark start = mark();
      const Linear cofactor = linear(without(t.atom, {&f, 1}));
      const Linear whole = multiply(cofactor, digit(number, from, 0)),
                   above = multiply(cofactor, digit(number, end, 0)),
                   below = multiply(cofactor, digit(number, from, end));
      const auto with = [&](const Int& b) {
        Linear r = plus(s, below, b - now);
        add(r, whole, now - b);
        add(r, above, (b - now) * turns);
        return r;
      };
      Linear best = with(least);
      if (!least.is_zero())
        if (Linear none = with(0); cost(none) < cost(best)) best = std::move(none);
      if (!(cost(best) < cost(s))) {
        rewind(start);
        continue;
      }
      law("digit.merge", "x", number, "a", from, "d", turns, "k", cofactor);
      Linear out;  // the multiples of the divisor
      s.constant = floor_mod(best.constant, lo);
      out.constant = floor_div(best.constant, lo);
      s.terms.clear();
      for (const Term& u : best.terms) {
        const Int rest = floor_mod(u.coef, lo);
        if (!rest.is_zero()) s.terms.push_back({rest, u.atom});
        if (rest != u.coef) out.terms.push_back({floor_div(u.coef - rest, lo), u.atom});
      }
      return out;
    }
  }
  return std::nullopt;
}

}  // namespace touchstone::symbolic
