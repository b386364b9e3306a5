// Digits of a number and of its complement or shift are all written with quotients that never
// differ by a constant, so that digits of one number cancel.
#include <algorithm>

#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

// (y + (n - 1)*(x//m))//n is (y - x//m)//n + x//m, whose first part is one quotient by m*n.
std::optional<Simplifier::Nested> Simplifier::nested_turned(const Linear& d, const Int& lo) {
  const auto nests = [&](const Term& t) { return c_[t.atom].is_quotient(); };
  const auto at = std::ranges::find_if(d.terms, nests);
  if (at == d.terms.end() || at->coef != lo - 1) return std::nullopt;
  const Int m = c_[at->atom].first;
  if (m * lo > kLimits.folded_number) return std::nullopt;
  const Linear inner = linear(c_[at->atom].args[0]);
  Linear other = shifted(-inner, -1), folded;
  law("div.complement", "x", inner, "c", m);
  Linear rest = shifted(plus(d, at->atom, -at->coef), 1);
  law("div.div", "x", other, "a", m, "y", rest, "c", lo);
  add(folded, other);
  add(folded, rest, m);
  return Nested{atom(at->atom), digit(folded, lo * m, 0)};
}

// A two-valued quotient only tests on which side of a number the dividend lies; reduces it to the
// least divisor that preserves this. nullopt if the quotient has more values.
std::optional<Simplifier::Side> Simplifier::side_of(const Linear& d, const Int& lo) const {
  Side r;
  r.near = d;
  for (Term& t : r.near.terms) {
    if (t.coef + t.coef > lo) {  // nearest to 0, for the sharpest bounds
      t.coef -= lo;
      r.whole.terms.push_back({1, t.atom});
    }
    r.common = gcd(r.common, t.coef);
  }
  const Interval range = lasting_bounds(r.near);
  if (!range.lo || !range.hi) return std::nullopt;
  const Int high = floor_div(*range.hi, lo);
  if (high - floor_div(*range.lo, lo) != Int(1)) return std::nullopt;
  r.near.constant -= high * lo;
  r.whole.constant = high;
  r.near.constant = floor_div((r.shifted = r.near).constant, r.common);
  for (Term& t : r.near.terms) t.coef = floor_div(t.coef, r.common);
  const Interval values = lasting_bounds(r.near);
  r.least = larger(*values.hi + 1, -*values.lo);
  return r;
}

// x + c*(x < 0) is x%c if x lies within one period of 0. Neighbours of the flag are included, so
// the order of terms does not matter.
bool Simplifier::wrap(Linear& s) {
  struct Window {
    std::string_view rule;
    Linear x;
    Int from, to, per_flag;  // of x; x%c is x + per_flag * flag
  };
  for (const Term& t : Terms(s.terms)) {
    const NodeData& n = c_[t.atom];
    if (n.kind != NodeKind::Negative && n.kind != NodeKind::Zero) continue;
    const Linear inner = linear(n.args[0]);
    const auto window = [&](const Int& c, bool high) -> std::optional<Window> {
      Window w{"mod.wrap", inner, -c, c - 1, c};
      if (n.kind == NodeKind::Zero && !high) {
        w.rule = "mod.wrap_low";
        w.x.constant -= 1;
        w.from = -1;
      } else if (n.kind == NodeKind::Zero) {
        w = {"mod.wrap_high", inner, 0, c, -c};
        w.x.constant += c;
      }
      return bounds(w.x).within(w.from, w.to) ? std::optional(w) : std::nullopt;
    };
    for (const Term& u : Terms(s.terms)) {
      const NodeData& d = c_[u.atom];
      if (d.kind != NodeKind::Digit || !d.first.is_one() || d.second.is_zero() ||
          (c_.variables_in(u.atom) & c_.variables_in(t.atom)) == 0)
        continue;
      for (const bool high : {false, true}) {
        const auto w = window(d.second, high);
        const Trace::Mark start = mark();
        const Linear own = w ? digit(w->x, 1, d.second) : Linear();
        rewind(start);
        // It may be a constant minus that remainder.
        if (own.terms.size() != 1 || own.terms[0].atom != u.atom ||
            !abs(own.terms[0].coef).is_one())
          continue;
        law(w->rule, "x", w->x, "c", d.second);
        reverse_since(start);
        const Int k = u.coef * own.terms[0].coef;
        add(s, u.atom, -u.coef);
        add(s, w->x, k);
        add(s, t.atom, k * w->per_flag);
        s.constant -= own.constant * k;
        break;
      }
    }
    const auto flag = std::ranges::find(s.terms, t.atom, &Term::atom);
    const auto own = std::ranges::find(s.terms, inner.terms[0].atom, &Term::atom);
    if (flag == s.terms.end() || own == s.terms.end() || !divides(inner.terms[0].coef, own->coef))
      continue;
    const Int m = floor_div(own->coef, inner.terms[0].coef);
    if (!divides(m, flag->coef)) continue;
    const Int c = floor_div(flag->coef, m);
    if (c.sign() < 0 && n.kind == NodeKind::Negative) continue;
    auto w = window(abs(c), c.sign() < 0);
    if (!w) continue;
    Linear rest = plus(s, t.atom, -flag->coef);
    add(rest, w->x, -m);
    if (rest.terms.size() + inner.terms.size() + 1 != s.terms.size()) continue;
    law(w->rule, [&](Instance& i) { i.bind("x", w->x).bind("c", abs(c)); });
    Int factor = m;
    if (m.sign() < 0) {
      law("mod.complement", [&](Instance& i) { i.bind("x", w->x).bind("b", abs(c)); });
      w->x = shifted(-w->x, -1);
      rest.constant += m * (abs(c) - 1);
      factor = -m;
    }
    add(rest, digit(std::move(w->x), 1, abs(c)), factor);
    s = std::move(rest);
    return true;
  }
  return false;
}

// The same where the period b is no number, and a choice adds or takes it.
bool Simplifier::wrap_symbolic(Linear& s) {
  for (const Term& t : Terms(s.terms)) {
    const NodeData& n = c_[t.atom];
    if (n.kind != NodeKind::Select || c_.partial(t.atom)) continue;
    const NodeData& flag = c_[n.args[0]];
    const bool below = flag.kind == NodeKind::Negative;
    if (!below && flag.kind != NodeKind::Zero) continue;
    for (const bool turned : {false, true}) {
      if (turned && !below) break;
      Linear zero = linear(flag.args[0]), added, whole = s;
      add(added, n.args[1], t.coef);  // where the flag holds
      if (turned) {                   // where its negation holds
        add(whole, added);
        zero = shifted(-zero, -1);
        added = -added;
      }
      if (wrap_symbolic(s, whole, t, zero, added, below)) return true;
    }
  }
  return false;
}

bool Simplifier::wrap_symbolic(Linear& s, const Linear& whole, const Term& t, const Linear& zero,
                               const Linear& added, bool below) {
  const auto replace = [&](std::string_view rule, const Linear& x, const Int& m, const Linear& b) {
    if (b.is_constant() || !bounds(b).at_least(1)) return false;
    Linear rest = plus(whole, t.atom, -t.coef);
    const std::size_t before = rest.terms.size();
    add(rest, x, -m);
    if (rest.terms.size() + x.terms.size() != before) return false;
    const bool low = rule == "mod.wrap_symbolic_low", wraps = rule == "mod.wrap_symbolic";
    const Linear from = wraps ? plus(x, b) : low ? shifted(x, 1) : x, gap = plus(b, x, -1);
    if (!bounds(from).at_least(0) || !bounds(gap).at_least(low || wraps ? 1 : 0)) return false;
    law(rule, "x", x, "b", b);
    add(rest, modulo(x, b), m);
    s = std::move(rest);
    return true;
  };
  const Int g = content(added);
  for (const Int& m : {g, -g}) {  // the flag cancels m*x
    const Linear x = -divided(added, m);
    if (below && replace("mod.wrap_choice", x, m, shifted(plus(zero, x), 1))) return true;
  }
  for (const Linear& inner : {zero, -zero}) {
    if (below && !(inner == zero)) break;
    for (const Term& lead : inner.terms) {
      const Term* const own = find_term(whole.terms, lead.atom);
      if (!own || !divides(lead.coef, own->coef)) continue;
      const Int m = floor_div(own->coef, lead.coef);
      if (!divides(m, g)) continue;
      const Linear b = divided(added, m);
      if (below) {
        if (replace("mod.wrap_symbolic", inner, m, b)) return true;
        continue;
      }
      if (replace("mod.wrap_symbolic_low", shifted(inner, -1), m, b)) return true;
      for (const Linear& period : {-b, plus(-b, inner, -1)})  // equal where the flag holds
        if (replace("mod.wrap_symbolic_high", plus(inner, period), m, period)) return true;
    }
  }
  return false;
}

// Merges a flag that compares a quotient's remainder with a number into the dividend.
bool Simplifier::shift_quotient(Linear& s) {
  for (const Term& flag : s.terms) {
    const NodeData& n = c_[flag.atom];
    if (n.kind != NodeKind::Negative && n.kind != NodeKind::Zero) continue;
    const Linear x = linear(n.args[0]);  // one term: a remainder minus a constant
    const NodeData& r = c_[x.terms[0].atom];
    if (x.terms.size() != 1 || r.kind != NodeKind::Digit || !r.first.is_one()) continue;
    const bool equal = n.kind == NodeKind::Zero;
    const Int c = r.second, length = equal ? Int(1) : -x.constant;
    const Linear e = linear(r.args[0]);
    for (const Term& top : s.terms) {
      const NodeData& q = c_[top.atom];
      if (!q.is_quotient() || q.first != c) continue;
      Linear d = linear(q.args[0]);
      if (abs(top.coef) != abs(flag.coef) || !(d.terms == e.terms)) continue;
      // the flag holds where d%c lies in [low, low + length)
      const Int low = floor_mod((equal ? -x.constant : Int(0)) + d.constant - e.constant, c);
      const bool up = top.coef == flag.coef;
      if (up ? low + length != c : !low.is_zero()) continue;
      const Trace::Mark start = mark();
      const Int k = top.coef, m = up ? low : length;
      if (equal) law(m.is_one() ? "lt.remainder" : "lt.remainder_last", "x", d, "c", c, "m", m);
      reverse_since(start);
      law("div.step", "x", d, "c", c, "m", m);
      d.constant += up ? length : -length;
      Linear rest = plus(s, top.atom, -k);
      add(rest, flag.atom, -flag.coef);
      add(rest, digit(std::move(d), c, 0), k);
      s = std::move(rest);
      return true;
    }
  }
  return false;
}

// Replaces the quotients of D and -1 - D, and of D and D + n/2 by n, by one of each pair, so that
// the digits of a number, of its complement and of shifted numbers cancel.
bool Simplifier::add_turned(Linear& to, const Linear& what, const Int& factor, int& steps) {
  bool turns = false;
  to.constant += what.constant * factor;
  for (const Term& t : what.terms) {
    const NodeData& n = c_[t.atom];
    const Int lo = n.first;
    const auto within = [&](const Int& x) { return x.sign() >= 0 && x < lo; };
    const Term term{t.coef * factor, t.atom};
    const bool quotient = n.is_quotient();
    const Linear d = quotient ? linear(n.args[0]) : Linear();
    if (!quotient || steps <= 0 || !within(d.constant) ||
        !std::ranges::all_of(d.terms, within, &Term::coef)) {
      add(to, Linear{0, {term}});
      continue;
    }
    Int excess = d.constant + d.constant + 1 - lo;  // of the first part other than half
    for (const Term& u : d.terms)
      if (const Int over = u.coef + u.coef - lo; !over.is_zero()) {
        excess = over;
        break;
      }
    --steps;
    const auto opens = std::ranges::find_if(d.terms, [&](const Term& u) {
      const NodeData& m = c_[u.atom];
      return m.is_digit() && divides(lo, u.coef * floor_div(m.second, m.first));
    });
    if (opens != d.terms.end()) {
      const Int k = opens->coef, from = c_[opens->atom].first, end = c_[opens->atom].second;
      const Linear inner = linear(c_[opens->atom].args[0]);
      const Int ratio = floor_div(end, from);
      law("digit.merge", "x", inner, "a", from, "d", ratio, "k", k);
      Linear open = plus(d, atom(opens->atom), -k);
      add(open, digit(inner, from, 0), k);
      add_turned(to, digit(open, lo, 0), term.coef, steps);
      add_turned(to, digit(inner, end, 0), -term.coef * floor_div(k * ratio, lo), steps);
      turns = true;
      continue;
    }
    const auto side = side_of(d, lo);
    if (side && side->least < lo) {
      law("div.period", "x", side->whole, "k", lo, "y", side->shifted, "c", lo);
      law("div.side", [&](Instance& i) {
        i.bind("x", side->shifted).bind("c", lo).bind("d", side->common * side->least);
      });
      law("div.split", [&](Instance& i) {
        i.bind("x", side->near).bind("c", side->common).bind("d", side->least);
        i.bind("y", floor_mod(side->shifted.constant, side->common));
      });
      add(to, side->whole, term.coef);
      add_turned(to, digit(side->near, side->least, 0), term.coef, steps);
    } else if (excess.sign() > 0) {
      law("div.complement", "x", d, "c", lo);
      Linear other = shifted(-d, -1);
      to.constant -= term.coef;
      add_turned(to, digit(other, lo, 0), -term.coef, steps);
    } else if (const Int half = floor_div(lo, 2);
               !side && half + half == lo && d.constant >= half) {
      Linear lower = shifted(d, -half);
      const Trace::Mark start = mark();
      law("div.upper_half", "x", lower, "c", half);
      reverse_since(start);
      add_turned(to, digit(lower, half, 0), term.coef, steps);
      add_turned(to, digit(lower, lo, 0), -term.coef, steps);
    } else if (const auto folded = nested_turned(d, lo)) {
      add_turned(to, folded->inner, term.coef, steps);
      add_turned(to, folded->outer, term.coef, steps);
    } else {
      add(to, Linear{0, {term}});
      continue;
    }
    turns = true;
  }
  return turns;
}

// Opens digits into quotients and joins the rest again. With `turn`, the quotients of a number and
// of its complement are unified, and the result must be simpler.
void Simplifier::join_opened(Linear& s, bool turn) {
  Terms joined;
  const auto akin = [&](const Term& t) {  // shares a variable with another digit
    return std::ranges::any_of(s.terms, [&](const Term& u) {
      return u.atom != t.atom && c_.kind(u.atom) == NodeKind::Digit &&
             (c_.variables_in(u.atom) & c_.variables_in(t.atom)) != 0;
    });
  };
  for (const Term& t : s.terms)
    if (c_.kind(t.atom) == NodeKind::Digit &&
        (turn ? c_.height(t.atom) <= kLimits.turned_height && akin(t) : related(s, t)))
      joined.push_back(t);
  if (joined.size() < (turn ? 2U : 1U)) return;
  const Trace::Mark start = mark();
  bool turns = false;
  Linear open = s;
  int steps = kLimits.turned_quotients * static_cast<int>(joined.size());
  const auto add_quotient = [&](Linear& to, const Linear& number, const Int& lo,
                                const Int& factor) {
    const Linear quotient = digit(number, lo, 0);
    if (turn)
      turns |= add_turned(to, quotient, factor, steps);
    else
      add(to, quotient, factor);
  };
  // Two-valued digits last, the highest first.
  const auto two_valued = [&](const NodeData& n) { return n.second == n.first + n.first; };
  std::ranges::sort(joined, [&](const Term& a, const Term& b) {
    const NodeData &x = c_[a.atom], &y = c_[b.atom];
    const bool late = two_valued(x), later = two_valued(y);
    if (late != later) return later;
    if (late && x.second != y.second) return y.second < x.second;
    return compare(c_, a.atom, b.atom) < 0;
  });
  for (const Term& term : joined) {
    const NodeData& n = c_[term.atom];
    if (n.second.is_zero() && !turn) continue;
    const Linear number = linear(n.args[0]);
    const Int low = n.first, high = n.second;
    add(open, atom(term.atom), -term.coef);
    if (high.is_zero()) {
      add_quotient(open, number, low, term.coef);
      continue;
    }
    const Int ratio = floor_div(high, low);
    const auto merge = [&](const Linear& x) {
      law("digit.merge", "x", x, "a", low, "d", ratio, "k", term.coef);
    };
    const Linear closed = open;
    merge(number);
    add_quotient(open, number, low, term.coef);
    add_quotient(open, number, high, -term.coef * ratio);
    if (!turn || !two_valued(n)) continue;
    // A two-valued digit may be written with the number half a period later.
    Linear other = closed, next = number;
    next.constant += low;
    const Trace::Mark second = mark();
    merge(next);
    other.constant += term.coef;
    add_quotient(other, next, low, -term.coef);
    add_quotient(other, next, high, term.coef * ratio);
    if (weight(other) < weight(open)) {
      open = std::move(other);
      turns = true;
    } else {
      rewind(second);
    }
  }
  if (turn && !turns) {
    rewind(start);
    return;
  }
  Linear done;
  for (bool again = true; again;) {
    again = false;
    Terms tops;
    for (const Term& t : open.terms) {
      const NodeData& d = c_[t.atom];
      if (d.is_quotient()) tops.push_back(t);
    }
    if (std::ssize(tops) > kLimits.joined_digits) break;
    std::ranges::sort(tops, [&](const Term& a, const Term& b) {
      const NodeData &x = c_[a.atom], &y = c_[b.atom];
      return x.first != y.first ? x.first < y.first : compare(c_, a.atom, b.atom) < 0;
    });
    for (const Term& t : tops)
      if (absorb_quotient(open, done, t)) {
        again = true;
        break;
      }
  }
  add(open, done);
  if (turn) complement_quotients(open);
  if (weight(open) < weight(s) + (turn ? 0 : 1))
    s = std::move(open);
  else
    rewind(start);
}

// The cost of k*(D//lo) in s: the terms beside it that share an atom with D, the distinct numbers
// in D, and its constant. Each turn lowers the cost of the sum, so turning terminates.
Simplifier::QuotientCost Simplifier::quotient_cost(const Linear& s, const Linear& dividend,
                                                   const Int& k, const Int& lo,
                                                   bool complement) const {
  QuotientCost r;
  SmallVector<Int, 4> numbers;
  for (const Term& u : dividend.terms) {
    const auto own = std::ranges::find(s.terms, u.atom, &Term::atom);
    Int beside = own != s.terms.end() ? own->coef : Int(0), inside = u.coef;
    if (complement) {
      beside += k;
      inside = lo - inside;
    }
    r.terms += !beside.is_zero();
    if (!inside.is_one() && std::ranges::find(numbers, inside) == numbers.end())
      numbers.push_back(inside);
  }
  const bool constant = complement ? dividend.constant != lo - 1 : !dividend.constant.is_zero();
  r.all = r.terms + static_cast<int>(numbers.size()) + (constant ? 1 : 0);
  return r;
}

// D//c is x - (x*c - 1 - D)//c: chooses the side that leaves fewer terms of x beside it.
bool Simplifier::complement(Linear& s) {
  for (const Term& t : s.terms) {
    const NodeData& n = c_[t.atom];
    if (!n.is_quotient()) continue;
    const Int lo = n.first, k = t.coef;
    const Linear dividend = linear(n.args[0]);
    const auto within = [&](const Int& x) { return x.sign() >= 0 && x < lo; };
    if (!within(dividend.constant) || !std::ranges::all_of(dividend.terms, within, &Term::coef))
      continue;
    if (dividend == atom(dividend.terms[0].atom) && lo > Int(2)) continue;  // as in `new_digit`
    const auto order =
        quotient_cost(s, dividend, k, lo, true) <=> quotient_cost(s, dividend, k, lo, false);
    if (order > 0 || (order == 0 && !above_half(dividend, lo))) continue;
    if (c_.height(t.atom) > kLimits.turned_height && dividend.constant != lo - 1) continue;
    const Trace::Mark start = mark();
    law("div.complement", "x", dividend, "c", lo);
    const Linear other = shifted(-dividend, -1);
    Linear after = plus(s, t.atom, -k);
    const Linear quotient = digit(other, lo, 0);
    add(after, quotient, -k);
    after.constant -= k;
    // If bounds turn it into something else, it may turn back and loop.
    const Linear turned = complemented(dividend, lo);
    const auto as_turned = [&](const Term& u) {
      const NodeData& d = c_[u.atom];
      return d.kind == NodeKind::Digit && d.first == lo && d.second.is_zero() &&
             is(d.args[0], turned);
    };
    if (std::ranges::none_of(quotient.terms, as_turned) && weight(after) > weight(s)) {
      rewind(start);
      continue;
    }
    s = std::move(after);
    return true;
  }
  return false;
}

void Simplifier::complement_quotients(Linear& s) {
  for (int steps = kLimits.turned_quotients; steps > 0 && complement(s); --steps) {
  }
}

// A remainder by an expression y is y - 1 minus that of its complemented dividend, which may cancel
// the rest: y - 1 - (x - 1)%y is -x%y. With two such terms, neither is turned.
bool Simplifier::turns(const Linear& s, const Term& t) const {
  const NodeData& n = c_[t.atom];
  if (n.kind != NodeKind::Mod) return false;
  const Int over = c_.kind(n.args[0]) == NodeKind::Sum ? c_[n.args[0]].first : Int(0);
  return over == Int(-1) && s.constant == t.coef && c_.bounds(n.args[1]).at_least(1);
}

bool Simplifier::complement_remainder(Linear& s) {
  const auto fits = [&](const Term& t) { return turns(s, t); };
  if (std::ranges::count_if(s.terms, fits) != 1) return false;
  const Term t = *std::ranges::find_if(s.terms, fits);
  const NodeData& n = c_[t.atom];
  const Linear dividend = linear(n.args[0]);
  const Linear divisor = linear(n.args[1]);
  const Linear other = shifted(-dividend, -1);
  const Trace::Mark start = mark();
  law("mod.complement", "x", dividend, "b", divisor);
  Linear after = plus(s, t.atom, -t.coef);
  add(after, divisor, t.coef);
  after.constant -= t.coef;
  add(after, modulo(other, divisor), -t.coef);
  if (weight(after) >= weight(s)) {
    rewind(start);
    return false;
  }
  s = std::move(after);
  return true;
}

}  // namespace touchstone::symbolic
