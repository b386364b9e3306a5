#include <algorithm>

#include "touchstone/symbolic/limits.h"
#include "touchstone/symbolic/order.h"
#include "touchstone/symbolic/simplifier.h"

namespace touchstone::symbolic {

namespace {

constexpr Id kNoNode = 0xffffffff;

}  // namespace

Linear Simplifier::divide(const Linear& a, const Linear& b) {
  if (!b.is_constant()) return divide_symbolic(a, b, false);
  if (b.constant.is_zero()) throw Error("floor_div: division by zero; the divisor must not be 0");
  if (b.constant.sign() > 0) return digit(a, b.constant, 0);
  law("div.negative", [&](Instance& i) { i.bind("x", a).bind("b", b); });
  return digit(-a, -b.constant, 0);
}

Linear Simplifier::modulo(const Linear& a, const Linear& b) {
  if (!b.is_constant()) return divide_symbolic(a, b, true);
  if (b.constant.is_zero()) throw Error("floor_mod: modulo by zero; the divisor must not be 0");
  if (b.constant.sign() > 0) return digit(a, 1, b.constant);
  law("mod.negative", [&](Instance& i) { i.bind("x", a).bind("b", b); });
  return -digit(-a, 1, -b.constant);
}

Id Simplifier::without(Id product, std::span<const Id> factors) {
  const NodeData& n = c_[product];
  Ids rest;
  if (n.kind == Kind::Product)
    rest.assign(n.args.begin(), n.args.end());
  else
    rest.push_back(product);
  for (const Id f : factors) {
    const auto at = std::ranges::find(rest, f);
    if (at == rest.end()) return kNoNode;
    rest.erase(at);
  }
  Linear r{1, {}};
  for (const Id f : rest) r = multiply(r, linear(f));
  return build(r);
}

Linear Simplifier::long_division(Linear& a, const Linear& b, bool remainder) {
  const auto length = [](const Linear& s) {
    return s.terms.size() + (s.constant.is_zero() ? 0U : 1U);
  };
  const auto factors = [&](const Id& id) {
    const NodeData& n = c_[id];
    return n.kind == Kind::Product ? n.args : std::span<const Id>(&id, 1);
  };
  const Term* lead = &b.terms[0];
  for (const Term& t : b.terms)
    if (factors(t.atom).size() > factors(lead->atom).size()) lead = &t;
  Linear quotient;
  bool again = true;
  for (int step = 0; again && step < kLimits.division_steps; ++step) {
    again = false;
    for (const Term& t : a.terms) {
      if (!divides(lead->coef, t.coef)) continue;
      const Id rest = without(t.atom, factors(lead->atom));
      if (rest == kNoNode) continue;
      Linear part, shorter = a;
      add(part, rest, floor_div(t.coef, lead->coef));
      add(shorter, multiply(part, b), -1);
      if (length(shorter) > length(a) || shorter == a) continue;
      law(remainder ? "mod.multiple" : "div.multiple",
          [&](Instance& i) { i.bind("x", part).bind("b", b).bind("y", shorter); });
      a = std::move(shorter);
      add(quotient, part);
      again = true;
      break;
    }
  }
  return quotient;
}

Linear Simplifier::cancel(Linear& a, Linear& b) {
  Ids common;
  if (a.constant.is_zero() && b.constant.is_zero() && !a.terms.empty()) {
    const Id first = b.terms[0].atom;
    const NodeData& n = c_[first];
    Ids candidates(n.args.begin(), n.args.end());
    if (n.kind != Kind::Product) candidates.assign(1, first);
    for (const Id f : candidates) {
      common.push_back(f);
      const auto all = [&](const Linear& s) {
        return std::ranges::all_of(
            s.terms, [&](const Term& t) { return without(t.atom, common) != kNoNode; });
      };
      if (!all(a) || !all(b)) common.pop_back();
    }
  }
  const Int g = gcd(content(a), content(b));
  Linear factor{g, {}};
  for (const Id f : common) factor = multiply(factor, linear(f));
  const auto divide_by = [&](const Linear& s) {
    Linear r{floor_div(s.constant, g), {}};
    for (const Term& t : s.terms) add(r, without(t.atom, common), floor_div(t.coef, g));
    return r;
  };
  a = divide_by(a);
  b = divide_by(b);
  return factor;
}

bool Simplifier::open_dividend(Linear& a, Linear& b) {
  if (a.terms.size() != 1 || !a.constant.is_zero() || !a.terms[0].coef.is_one()) return false;
  const NodeData& n = c_[a.terms[0].atom];
  const bool digit = n.kind == Kind::Digit && n.second.is_zero();
  if ((!digit && n.kind != Kind::Div) || !bounds(b).at_least(1)) return false;
  const Linear inner = digit ? Linear{n.first, {}} : linear(n.args[1]);
  if (b.terms.size() * std::max<std::size_t>(1, inner.terms.size()) > kLimits.divisor_terms)
    return false;
  const Linear dividend = linear(n.args[0]);
  law("div.div",
      [&](Instance& i) { i.bind("x", dividend).bind("a", inner).bind("y", 0).bind("c", b); });
  a = dividend;
  b = multiply(inner, b);
  return true;
}

Linear Simplifier::divide_symbolic(Linear a, Linear b, bool remainder) {
  // Both signs turn together, so the divisor's first coefficient can be positive.
  const bool flip = b.terms[0].coef.sign() < 0;
  if (flip) {
    law(remainder ? "mod.negative" : "div.negative",
        [&](Instance& i) { i.bind("x", a).bind("b", b); });
    a = -a;
    b = -b;
  }
  Linear quotient = long_division(a, b, remainder);
  const Linear factor = cancel(a, b);
  if (!(factor == Linear{1, {}}))
    law(remainder ? "mod.cancel" : "div.cancel",
        [&](Instance& i) { i.bind("x", a).bind("b", b).bind("y", factor); });
  // Without the common factor another term of the divisor may come first.
  const bool turn = !b.is_constant() && b.terms[0].coef.sign() < 0;
  if (turn) {
    law(remainder ? "mod.negative" : "div.negative",
        [&](Instance& i) { i.bind("x", a).bind("b", b); });
    a = -a;
    b = -b;
  }
  Linear rest;
  if (b.is_constant()) {  // positive, since the first coefficient was
    add(quotient, digit(a, b.constant, 0));
    if (remainder) rest = digit(a, 1, b.constant);
  } else {
    while (!remainder && open_dividend(a, b)) {
    }
    bool known = false;
    for (const int q : {0, 1, -1}) {  // 0 <= a - q*b < b
      rest = a;
      add(rest, b, -q);
      Linear over = rest;
      add(over, b, -1);
      if (!bounds(rest).at_least(0) || !bounds(over).at_most(-1)) continue;
      law(remainder ? "mod.range" : "div.range",
          [&](Instance& i) { i.bind("k", q).bind("b", b).bind("y", rest); });
      quotient.constant += q;
      known = true;
      break;
    }
    const Linear subjects[] = {a, b};
    const auto root = remainder ? CompiledRule::Root::Remainder : CompiledRule::Root::Quotient;
    if (!known)
      if (auto found = apply(root, subjects)) {
        if (remainder)
          rest = std::move(*found);
        else
          add(quotient, *found);
        known = true;
      }
    if (!known) {
      const Interval top = lasting_bounds(a), bottom = lasting_bounds(b);
      const Interval range = floor_div(top, bottom);
      const Id args[] = {build(a), build(b)};
      if (range.is_point()) {
        if (remainder) law("divmod.join", [&](Instance& i) { i.bind("x", a).bind("b", b); });
        if (trace_) fixed(c_.make(Kind::Div, args, range), *range.lo);
        quotient.constant += *range.lo;
        rest = a;
        add(rest, b, -*range.lo);
      } else if (remainder) {
        rest = node(Kind::Mod, args, floor_mod(top, bottom));
      } else {
        add(quotient, node(Kind::Div, args, range));
      }
    }
  }
  if (!remainder) return quotient;
  rest = multiply(rest, factor);
  return flip != turn ? -rest : rest;
}

}  // namespace touchstone::symbolic
