#include <algorithm>

#include "touchstone/symbolic/limits.h"
#include "touchstone/symbolic/order.h"
#include "touchstone/symbolic/simplifier.h"

namespace touchstone::symbolic {

Linear Simplifier::multiply_atoms(Id a, Id b) {
  for (const auto& [c, d] : {std::pair(a, b), std::pair(b, a)}) {
    if (is_condition(c_.kind(c))) return where(c, linear(d), Linear());
    if (c_.kind(c) == Kind::Select)
      return where(c_[c].args[0], multiply(linear(c_[c].args[1]), linear(d)), Linear());
  }
  const auto flag_twice = [&](Id id) {
    law("mul.flag", [&](Instance& i) { i.bind("x", linear(id)); });
  };
  if (a == b && c_[a].boolean) {
    flag_twice(a);
    return atom(a);
  }
  if (c_.kind(a) == Kind::Max && a == b) {
    const Linear subjects[] = {atom(a), atom(b)};
    if (auto found = apply(Rule::Root::Product, subjects)) return *found;
  }
  Ids factors;
  for (const Id id : {a, b}) {
    const NodeData& n = c_[id];
    if (n.kind == Kind::Product)
      factors.insert(factors.end(), n.args.begin(), n.args.end());
    else
      factors.push_back(id);
  }
  std::ranges::sort(factors, [&](Id x, Id y) { return compare(c_, x, y) < 0; });
  const auto again = [&](Id x, Id y) {
    if (x != y || !c_[x].boolean) return false;
    flag_twice(x);
    return true;
  };
  factors.erase(std::unique(factors.begin(), factors.end(), again), factors.end());
  if (factors.size() == 1) return atom(factors[0]);
  for (std::size_t i = 0; i + 1 < factors.size(); ++i) {  // of two values, a square is a line
    const Id x = factors[i];
    const Interval& two = c_.bounds(x);
    if (x != factors[i + 1] || !two.lo || !two.hi || !(*two.hi - *two.lo).is_one()) continue;
    const Int low = *two.lo;
    law("mul.two_valued", [&](Instance& n) { n.bind("x", linear(x)).bind("k", low); });
    Linear line{-(low * (low + 1)), {}};
    add(line, x, low + low + 1);
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(i),
                  factors.begin() + static_cast<std::ptrdiff_t>(i) + 2);
    for (const Id f : factors) line = multiply(line, atom(f));
    return line;
  }
  Interval range = Interval::point(1);
  for (std::size_t i = 0; i < factors.size();) {
    std::size_t j = i;
    Interval power = Interval::point(1);
    for (; j < factors.size() && factors[j] == factors[i]; ++j)
      power = power * c_.bounds(factors[i]);
    if ((j - i) % 2 == 0) power = meet(power, Interval{Int(0), std::nullopt});
    range = range * power;
    i = j;
  }
  return node(Kind::Product, factors, range);
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
    return node(Kind::Product, both, c_.bounds(x) * c_.bounds(y));
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

}  // namespace touchstone::symbolic
