#include <algorithm>
#include <cmath>

#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

Linear Simplifier::divide(const Linear& a, const Linear& b) {
  if (!b.is_constant()) return divide_symbolic(a, b, false);
  if (b.constant.is_zero()) throw Error("floor_div: division by zero; the divisor must not be 0");
  if (b.constant.sign() > 0) return digit(a, b.constant, 0);
  law("div.negative", "x", a, "b", b);
  return digit(-a, -b.constant, 0);
}

Linear Simplifier::modulo(const Linear& a, const Linear& b) {
  if (!b.is_constant()) return divide_symbolic(a, b, true);
  if (b.constant.is_zero()) throw Error("floor_mod: modulo by zero; the divisor must not be 0");
  if (b.constant.sign() > 0) return digit(a, 1, b.constant);
  law("mod.negative", "x", a, "b", b);
  return -digit(-a, 1, -b.constant);
}

Id Simplifier::without(Id product, std::span<const Id> taken) {
  Ids rest(factors(product).begin(), factors(product).end());
  for (const Id f : taken) {
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
  const Term* lead = &b.terms[0];
  for (const Term& t : b.terms)
    if (factors(t.atom).size() > factors(lead->atom).size()) lead = &t;
  // Stop if products of the divisor's own terms reproduce earlier terms.
  List<Ids> seen;
  const auto atoms_of = [](const Linear& sum) {
    Ids atoms;
    for (const Term& t : sum.terms) atoms.push_back(t.atom);
    return atoms;
  };
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
      if (length(shorter) == length(a)) {
        seen.push_back(atoms_of(a));
        if (std::ranges::find(seen, atoms_of(shorter)) != seen.end()) continue;
      }
      law(remainder ? "mod.multiple" : "div.multiple", "x", part, "b", b, "y", shorter);
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
    for (const Id f : Ids(factors(first).begin(), factors(first).end())) {
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

// f*x + y < 0 iff x < 0, for y from 0 to f - 1; f*x == 0 iff x == 0.
bool Simplifier::drop_factor(Linear& s, bool equation) {
  if (s.terms.size() > kLimits.matched_terms) return false;
  const auto holds = [&](Id atom, Id factor) {
    return std::ranges::find(factors(atom), factor) != factors(atom).end();
  };
  Ids tried;
  for (const Term& t : s.terms) {
    if (c_.kind(t.atom) != NodeKind::Product) continue;
    for (const Id id : c_[t.atom].args) {
      if (std::ranges::find(tried, id) != tried.end()) continue;
      tried.push_back(id);
      Linear y{s.constant, {}};
      for (const Term& u : s.terms)
        if (!holds(u.atom, id)) y.terms.push_back(u);
      if (equation && !(y == Linear())) continue;
      if (const Interval left = bounds(y); !left.at_least(0) && !left.at_most(-1)) continue;
      const Interval range = bounds(atom(id));
      const bool one_sign = range.at_least(1) || range.at_most(-1);
      const bool several = s.terms.size() > y.terms.size() + 1;
      if (!one_sign && !several) continue;
      Linear beside;
      for (const Term& u : s.terms)
        if (holds(u.atom, id)) add(beside, without(u.atom, {&id, 1}), u.coef);
      if (one_sign && drop_factor(s, atom(id), beside, y, equation)) return true;
      if (several && drop_factor(s, std::move(beside), atom(id), std::move(y), equation))
        return true;
    }
  }
  return false;
}

// The same for a given s = f*x + y.
bool Simplifier::drop_factor(Linear& s, Linear f, Linear x, Linear y, bool equation) {
  const Interval range = bounds(f);
  const bool turned = range.at_most(-1);
  if (!turned && !range.at_least(1)) return false;
  if (equation) {
    law("eq.scale", "x", x, "c", f);
    s = std::move(x);
    return true;
  }
  if (turned) {
    f = -f;
    x = -x;
  }
  if (bounds(y).at_most(-1)) {
    x.constant -= 1;
    add(y, f);
  }
  if (!bounds(y).at_least(0) || !bounds_of_sum(y, f, -1).at_most(-1)) return false;
  law("lt.split", "x", x, "y", y, "c", f);
  s = std::move(x);
  return true;
}

// A square compared with a number; if the base has one sign, compare it with the root.
std::optional<Id> Simplifier::by_square(const Linear& s, bool equation) {
  const auto squared = [&](const Term& t) {
    const NodeData& n = c_[t.atom];
    return n.kind == NodeKind::Product && n.args.size() == 2 && n.args[0] == n.args[1];
  };
  const auto at = std::ranges::find_if(s.terms, squared);
  if (at == s.terms.end()) return std::nullopt;
  const Int k = at->coef;
  if (k.sign() < 0 && !equation) {
    Linear other = shifted(-s, -1);
    const auto flag = by_square(other, false);
    return flag ? std::optional(negate(*flag)) : std::nullopt;
  }
  // s is k*a*a + a*b + c, and 4*k*s is (2*k*a + b)*(2*k*a + b) + 4*k*c - b*b.
  const Id a = c_[at->atom].args[0];
  Linear root, c{s.constant, {}}, left;
  for (const Term& t : s.terms)
    if (t.atom == at->atom)
      continue;
    else if (const Id rest = without(t.atom, {&a, 1}); rest != kNoNode)
      add(root, rest, t.coef);
    else
      c.terms.push_back(t);
  add(left, multiply(root, root), -1);
  add(left, c, k * 4);
  if (!left.is_constant()) return std::nullopt;
  add(root, a, k + k);
  const Int g = content(root);
  root = divided(std::move(root), g);
  const bool exact = divides(g * g, left.constant);
  const auto limit = (-floor_div(left.constant, g * g)).small();  // of the square
  if (!limit || *limit > kLimits.folded_number) return std::nullopt;
  const std::int64_t square = std::max(*limit - (equation ? 0 : 1), std::int64_t{0});
  const auto most = static_cast<std::int64_t>(std::sqrt(static_cast<double>(square)));  // a root
  const auto bind = [&](const Linear& x, const Int& m) {
    return [&, m](Instance& i) { i.bind("x", x).bind("c", *limit).bind("m", m); };
  };
  if (*limit < (equation ? 0 : 1) || (equation && (!exact || most * most != *limit))) {
    if (equation) {
      law("eq.between", "x", s);
      for (const int next : {0, 1})
        law("lt.root",
            [&](Instance& i) { i.bind("x", root).bind("c", *limit + next).bind("m", most + 1); });
    }
    return c_.make_constant(0);
  }
  for (const Linear& x : {root, -root}) {
    const Int gap = -(equation ? most : most + 1);
    Linear above = shifted(x, gap), other = shifted(-x, gap);
    const Trace::Mark start = mark();
    const Id known = equation ? zero(other) : negative(other);
    rewind(start);
    if (most == 0 && !equation) {
      law("lt.square", bind(x, 0));
      return zero(x);
    }
    if (most > 0 && known != c_.make_constant(equation ? 0 : 1)) continue;
    law(equation ? "eq.root" : "lt.root", bind(x, equation ? most : most + 1));
    return equation ? zero(above) : negative(above);
  }
  return std::nullopt;
}

// Opens a remainder in a dividend if that changes only multiples of the divisor; for a remainder,
// in every term at once.
bool Simplifier::open_remainder(Linear& a, const Linear& b, bool remainder, Linear& quotient) {
  if (!remainder && a.terms.size() > kLimits.joined_terms) return false;
  const Trace::Mark first = mark();
  Linear all{a.constant, {}};  // the terms processed so far, opened
  bool opens = false;
  for (const Term& t : a.terms) {
    bool whole = true;
    for (const Id f : factors(t.atom)) {
      if (c_.kind(f) != NodeKind::Mod) continue;
      const Linear x = linear(c_[f].args[0]), divisor = linear(c_[f].args[1]);
      if (divisor == Linear()) continue;  // undefined: the facts leave no other divisor
      const Trace::Mark start = mark();
      Linear over = divisor, k;
      const Linear times = long_division(over, b, true);  // the divisor over b
      rewind(start);
      if (!(over == Linear())) continue;
      add(k, without(t.atom, {&f, 1}), t.coef);
      Linear rest;
      const auto beside = [&] {
        rest = all;
        for (const Term* u = &t + 1; u != a.terms.end(); ++u) rest.terms.push_back(*u);
        sort_terms(rest.terms);
      };
      const auto use = [&](Instance& i) {
        if (remainder) beside();
        i.bind("x", x).bind("k", k).bind("y", rest).bind("a", 1);
        i.bind("b", b).bind("c", b).bind("d", remainder ? divisor : times);
      };
      Linear open = multiply(k, x);
      rewind(start);
      if (remainder) {
        law("mod.mod", use);
        all.constant += open.constant;
        for (Term& u : open.terms) all.terms.push_back(std::move(u));
        opens = true;
        whole = false;
        break;
      }
      beside();
      if (k == Linear{1, {}} && rest == Linear() && bounds(b).at_least(1) &&
          bounds(times).at_least(1)) {
        rewind(start);
        law("div.mod", use);
        add(quotient, modulo(divide(x, b), times));
        open = Linear();
      } else {
        add(open, rest);
        add(quotient, long_division(open, b, false));
        rewind(start);
        if (!(open == Linear())) {
          quotient = Linear();
          continue;
        }
        law("div.remainder", use);
        add(quotient, multiply(multiply(k, times), divide(x, divisor)), -1);
      }
      a = std::move(open);
      return true;
    }
    if (whole) all.terms.push_back(t);
  }
  sort_terms(all.terms);
  if (opens && simpler(Rule::Root::Sum, {&all, 1}, {&a, 1})) {
    a = std::move(all);
    return true;
  }
  rewind(first);
  return false;
}

bool Simplifier::open_dividend(Linear& a, Linear& b) {
  if (a.terms.size() != 1 || !a.constant.is_zero() || !a.terms[0].coef.is_one()) return false;
  const NodeData& n = c_[a.terms[0].atom];
  const bool digit = n.is_quotient();
  if ((!digit && n.kind != NodeKind::Div) || !bounds(b).at_least(1)) return false;
  const Linear inner = digit ? Linear{n.first, {}} : linear(n.args[1]);
  if (inner == Linear()) return false;  // undefined: the facts leave no other divisor
  if (b.terms.size() * std::max<std::size_t>(1, inner.terms.size()) > kLimits.divisor_terms)
    return false;
  const Linear dividend = linear(n.args[0]);
  law("div.div", "x", dividend, "a", inner, "y", 0, "c", b);
  a = dividend;
  b = multiply(inner, b);
  return true;
}

Linear Simplifier::divide_symbolic(Linear a, Linear b, bool remainder) {
  // Makes the divisor's first coefficient positive, by flipping both signs.
  const auto flipped = [&] {
    if (b.is_constant() || b.terms[0].coef.sign() > 0) return false;
    law(remainder ? "mod.negative" : "div.negative", "x", a, "b", b);
    a = -a;
    b = -b;
    return true;
  };
  const bool flip = flipped();
  Linear opened;
  for (int step = 0; step < kLimits.division_steps; ++step)
    if (!open_remainder(a, b, remainder, opened)) break;
  Linear quotient = long_division(a, b, remainder);
  add(quotient, opened);
  const Linear factor = cancel(a, b);
  if (!(factor == Linear{1, {}}))
    law(remainder ? "mod.cancel" : "div.cancel", "x", a, "b", b, "y", factor);
  if (!(factor == Linear{1, {}}) && !b.is_constant() && b.terms[0].coef.sign() > 0) {
    Linear more;  // a remainder by a multiple of the reduced divisor
    if (open_remainder(a, b, remainder, more)) {
      add(more, long_division(a, b, remainder));
      add(quotient, more);
    }
  }
  // Cancelling the common factor may change the divisor's first term.
  const bool turn = flipped();
  // Building may join terms into multiples of the divisor.
  constexpr int kMostForms = 4;
  for (int form = 0; !b.is_constant() && form < kMostForms; ++form) {
    const Id whole = build(a);
    if (is(whole, a)) break;
    a = linear(whole);
    const Linear more = long_division(a, b, remainder);
    if (more == Linear()) break;
    add(quotient, more);
  }
  Linear rest;
  if (b.is_constant()) {  // positive, since its first coefficient was
    add(quotient, digit(a, b.constant, 0));
    if (remainder) rest = digit(a, 1, b.constant);
  } else {
    if (!remainder && open_dividend(a, b)) {  // the product of both divisors has new factors
      add(quotient, divide(a, b));
      return quotient;
    }
    bool known = false;
    const bool below = bounds(b).at_most(-1);
    const Linear over = below ? -a : a, under = below ? -b : b;
    for (const int q : {0, 1, -1}) {  // 0 <= over - q*under < under
      rest = plus(over, under, -q);
      const Linear gap = plus(rest, under, -1);
      if (!bounds(rest).at_least(0) || !bounds(gap).at_most(-1)) continue;
      if (below) law(remainder ? "mod.negative" : "div.negative", "x", a, "b", b);
      law(remainder ? "mod.range" : "div.range", "k", q, "b", under, "y", rest);
      quotient.constant += q;
      if (below) rest = -rest;
      known = true;
      break;
    }
    const Linear subjects[] = {a, b};
    const auto root = remainder ? Rule::Root::Remainder : Rule::Root::Quotient;
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
        if (remainder) law("divmod.join", "x", a, "b", b);
        if (trace_) fixed(c_.make(NodeKind::Div, args, range), *range.lo);
        quotient.constant += *range.lo;
        rest = plus(a, b, -*range.lo);
      } else if (remainder) {
        rest = node(NodeKind::Mod, args, floor_mod(top, bottom));
      } else {
        add(quotient, node(NodeKind::Div, args, range));
      }
    }
  }
  if (!remainder) return quotient;
  rest = multiply(rest, factor);
  return flip != turn ? -rest : rest;
}

Linear Simplifier::truncated(Linear x, Linear y, bool remainder) {
  if (y == Linear()) throw Error("tdiv, tmod: division by zero; the divisor must not be 0");
  x = linear(build(x));
  const auto use = [&](std::string_view quotient_law, std::string_view remainder_law,
                       const Linear& k = {}) {
    law(remainder ? remainder_law : quotient_law, "x", x, "b", y, "y", k);
  };
  Linear factor{1, {}};  // of the result
  if (const auto common = cancel(x, y); !(common == factor)) {
    use("tdiv.cancel", "tmod.cancel", common);
    if (remainder) factor = common;
  }
  const auto turns = [&](const Linear& s, const Interval& range) {
    return range.at_most(0) || (!range.at_least(0) && s.terms[0].coef.sign() < 0);
  };
  if (turns(y, bounds(y))) {
    use("tdiv.divisor", "tmod.divisor");
    y = -y;
    if (!remainder) factor = -factor;
  }
  if (y == Linear{1, {}}) return remainder ? Linear() : multiply(x, factor);
  if (turns(x, bounds(x))) {
    use("tdiv.dividend", "tmod.dividend");
    x = -x;
    factor = -factor;
  }
  if (bounds(y).at_least(1)) {
    if (bounds(x).at_least(0)) {
      use("tdiv.floor", "tmod.floor");
      return multiply(remainder ? modulo(x, y) : divide(x, y), factor);
    }
    if (bounds_of_sum(x, y, -1).at_most(-1) && bounds_of_sum(-x, y, -1).at_most(-1)) {
      use("tdiv.small", "tmod.small");
      return remainder ? multiply(x, factor) : Linear();
    }
  }
  if (!facts_.empty() && !y.is_constant()) {
    const Linear signs[] = {y, -y};
    const Trace::Mark start = mark();
    const Linear size = maximum(signs);
    rewind(start);
    if (bounds_of_sum(x, size, -1).at_most(-1) && bounds_of_sum(-x, size, -1).at_most(-1)) {
      use("tdiv.small_absolute", "tmod.small_absolute");
      return remainder ? multiply(x, factor) : Linear();
    }
  }
  if (x.terms.size() == 1 && x.constant.is_zero() && truncates(c_.kind(x.terms[0].atom)))
    if (auto joined = truncated_again(x.terms[0], y, remainder)) return multiply(*joined, factor);
  const Interval top = lasting_bounds(x), bottom = lasting_bounds(y);
  const Id args[] = {build(x), build(y)};
  return multiply(remainder ? node(NodeKind::TruncMod, args, trunc_mod(top, bottom))
                            : node(NodeKind::TruncDiv, args, trunc_div(top, bottom)),
                  factor);
}

// A quotient or remainder of k*tdiv(x, a) or k*tmod(x, a) by c.
std::optional<Linear> Simplifier::truncated_again(const Term& t, const Linear& c, bool remainder) {
  const NodeData& n = c_[t.atom];
  const Linear x = linear(n.args[0]), a = linear(n.args[1]);
  const auto is_long = [&](const Term& u) {
    return factors(u.atom).size() >= kLimits.divisor_terms;
  };
  if (a == Linear() ||  // 0 by the facts
      c.terms.size() * std::max<std::size_t>(1, a.terms.size()) > kLimits.divisor_terms ||
      (!remainder && (!t.coef.is_one() || std::ranges::any_of(a.terms, is_long))))
    return std::nullopt;
  const auto use = [&](std::string_view rule, const Linear& d) {
    law(rule, "x", x, "a", a, "b", c, "d", d, "k", t.coef);
  };
  if (n.kind == NodeKind::TruncDiv) {
    if (remainder) {
      if (!(c == x) || !t.coef.is_one() || !a.is_constant() || a.constant < Int(2))
        return std::nullopt;
      law("tmod.quotient", "x", x, "c", a);
      return atom(t.atom);
    }
    use("tdiv.tdiv", {});
    return truncated(x, multiply(a, c), false);
  }
  Linear times = a;  // over c
  const Trace::Mark start = mark();
  if (c.is_constant()) {
    if (!divides(c.constant, content(times))) return std::nullopt;
    times = divided(std::move(times), c.constant);
  } else {
    Linear quotient = long_division(times, c, true);
    rewind(start);
    if (!(times == Linear())) return std::nullopt;
    times = std::move(quotient);
  }
  if (remainder) {
    use("tmod.tmod", times);
    return truncated(multiply(x, Linear{t.coef, {}}), c, true);
  }
  use("tdiv.tmod", times);
  return truncated(truncated(x, c, false), times, true);
}

Linear Simplifier::by_signs(const Linear& x, const Linear& y, bool remainder) {
  const auto over = [&](const Linear& a, const Linear& d) {
    return remainder ? modulo(a, d) : divide(a, d);
  };
  const auto by_dividend = [&](const Linear& d) {
    return where(negative(x), -over(-x, d), over(x, d));
  };
  const Linear below = by_dividend(-y);
  return where(negative(y), remainder ? below : -below, by_dividend(y));
}

Id Simplifier::without_truncations(Id root) {
  IdMap<Id> now;
  opening_ = true;
  for (const Id id : reachable(c_, root)) {
    const NodeData& n = c_[id];
    if (!truncates(n.kind)) continue;
    const Id x = rewritten(n.args[0], now), y = rewritten(n.args[1], now);
    if (y != 0) now.set(id, build(by_signs(linear(x), linear(y), n.kind == NodeKind::TruncMod)));
  }
  const Id opened = rewritten(root, now);
  opening_ = false;
  return opened;
}

}  // namespace touchstone::symbolic
