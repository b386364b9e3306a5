#include <algorithm>

#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

std::optional<Simplifier::Split> Simplifier::split_with(const Linear& s, const Int& g, bool whole,
                                                        std::size_t flipped,
                                                        Nearest& nearest) const {
  Split r;
  Interval& range = nearest.range;
  const auto window = [&](const Int& x) {
    return x.sign() >= 0 && x < g ? Int(0) : floor_div(x, g);
  };
  const Int high = window(s.constant), low = high.is_zero() ? s.constant : s.constant - high * g;
  const auto rest_of = [&](std::size_t i) {
    const Int& coef = s.terms[i].coef;
    if (whole && abs(coef) < g) return coef;
    Int rest = coef.sign() >= 0 && coef < g ? coef : floor_mod(coef, g);
    const Int twice = rest + rest;
    nearest.tied |= twice == g;
    if ((twice > g) != (i == flipped)) rest -= g;
    return rest;
  };
  range = Interval::point(low);
  unsigned seen = 0, shared = 0;  // variables, and those in several terms
  for (std::size_t i = 0; i < s.terms.size(); ++i) {
    const Int rest = rest_of(i);
    if (rest.is_zero()) continue;
    const Term& t = s.terms[i];
    if (whole && rest != t.coef) return std::nullopt;
    range.add_product(c_.bounds(t.atom), rest);
    const unsigned own = c_.variables_in(t.atom);
    shared |= seen & own;
    seen |= own;
  }
  const auto within_one = [&](const Interval& x) {
    return x.lo && x.hi && window(*x.lo) == window(*x.hi);
  };
  const bool by_itself = within_one(range);
  if (!by_itself && shared == 0 && facts_.empty() && residues_.empty()) return std::nullopt;
  r.remainder.constant = low;
  for (std::size_t i = 0; i < s.terms.size(); ++i)
    if (Int rest = rest_of(i); !rest.is_zero())
      r.remainder.terms.push_back({std::move(rest), s.terms[i].atom});
  if (!by_itself) {  // term-by-term bounds are insufficient: bound them together
    const Interval together = bounds(r.remainder);
    if (!within_one(together)) return std::nullopt;
    range = together;
  }
  const Int turns = window(*range.lo);
  r.remainder.constant -= turns * g;
  r.quotient.constant = high + turns;
  auto left = r.remainder.terms.begin();
  for (const Term& t : s.terms) {
    const bool stays = left != r.remainder.terms.end() && left->atom == t.atom;
    const Int above = stays ? t.coef - (left++)->coef : t.coef;
    if (!above.is_zero()) r.quotient.terms.push_back({floor_div(above, g), t.atom});
  }
  return r;
}

std::optional<Simplifier::Split> Simplifier::split(const Linear& s, const Int& g,
                                                   bool whole) const {
  // The residue nearest to 0 minimizes a term's spread. The other residue, g away, can fit the sum
  // into a period only if the atom has two values and its spread exceeds that of all other terms,
  // so for at most one term. If both residues are equally near and the terms are bounded together,
  // the other shifts the window by half a period when the sum of the atom's ends is odd.
  Nearest nearest;
  if (auto r = split_with(s, g, whole, s.terms.size(), nearest)) return r;
  const Interval& range = nearest.range;
  const bool narrow = range.lo && range.hi && *range.hi - *range.lo < g;
  if (whole || (!narrow && !nearest.tied)) return std::nullopt;
  std::size_t flipped = s.terms.size();
  for (std::size_t i = 0; i < s.terms.size(); ++i) {
    const Interval& values = c_.bounds(s.terms[i].atom);
    if (!values.lo || !values.hi) continue;
    const Int rest = floor_mod(s.terms[i].coef, g), least = std::min(rest, g - rest);
    const bool tied = least + least == g && !floor_mod(*values.lo + *values.hi, 2).is_zero();
    const bool alone =
        narrow && *values.hi - *values.lo == Int(1) && least + least > *range.hi - *range.lo;
    if (tied || alone) flipped = i;
  }
  if (flipped == s.terms.size()) return std::nullopt;
  return split_with(s, g, whole, flipped, nearest);
}

Terms Simplifier::factors_below(const Linear& s, const Int& lo, const Int& hi) const {
  Terms found;  // one coefficient each, largest first; no atoms
  const Int& base = lo.is_one() ? hi : lo;
  const auto put = [&](Int g) {
    std::size_t at = found.size();
    while (at > 0 && found[at - 1].coef < g) --at;
    if (at == 0 || found[at - 1].coef != g) found.insert(found.begin() + at, {std::move(g), 0});
  };
  if (!hi.is_zero()) put(hi);
  if (!lo.is_one()) put(lo);
  for (const Term& t : s.terms)
    if (Int g = gcd(t.coef, base); !g.is_one()) put(std::move(g));
  const std::size_t n = found.size();
  Int all = base;
  for (std::size_t i = 0; i < n; ++i) {
    all = gcd(all, found[i].coef);
    if (!all.is_one() && std::ranges::find(found, Term{all, 0}) == found.end())
      found.push_back({all, 0});
  }
  return found;
}

bool Simplifier::lower_digits(Linear& s, const Int& lo, const Int& period) {
  for (const Term& t : s.terms) {
    const NodeData& n = c_[t.atom];
    // Changes only multiples of the period: k*((y//a) % (b/a)) is k*(y//a) modulo the period.
    const bool truncates = n.kind == NodeKind::TruncMod,
               symbolic = truncates || n.kind == NodeKind::Mod;
    if (!symbolic && (!n.is_digit())) continue;
    if (symbolic && n.args[1] == 0) continue;  // 0 by the facts
    const Linear divisor = symbolic ? linear(n.args[1]) : Linear{floor_div(n.second, n.first), {}};
    if (!divides(period, t.coef * content(divisor))) continue;
    if (c_[n.args[0]].terms.size() + s.terms.size() > kLimits.joined_terms) continue;
    const Term term = t;
    if (truncates && trace_) {  // k*tmod(x, d) is k*x - k*d*tdiv(x, d)
      Linear rest = plus(s, term.atom, -term.coef);
      add(rest, n.args[0], term.coef);
      const Int whole = content(divisor);
      const Linear turns =
          multiply(divided(divisor, whole), truncated(linear(n.args[0]), divisor, false));
      law(lo.is_one() ? "mod.period" : "digit.period", [&](Instance& i) {
        i.bind("x", turns).bind("k", -term.coef * whole).bind("y", rest).bind("c", period);
        i.bind("a", lo).bind("d", floor_div(period, lo));
      });
    }
    if (!truncates)
      law(lo.is_one() ? "mod.mod" : "digit.digit", [&](Instance& i) {
        Linear rest = plus(s, term.atom, -term.coef);
        i.bind("k", term.coef).bind("x", linear(n.args[0])).bind("a", symbolic ? 1 : n.first);
        i.bind("d", divisor).bind("y", rest);
        i.bind("b", lo).bind("c", floor_div(period, lo));
      });
    const Linear open = digit(linear(n.args[0]), symbolic ? 1 : n.first, 0);
    add(s, term.atom, -term.coef);
    add(s, open, term.coef);
    return true;
  }
  return false;
}

// y + k*(x % c) as y + k*x - k*c*(x//c), if d divides k*c and fewer terms than before are not
// multiples of d; divided by d, only the quotient of the remainder is left. For a finite window all
// terms must be multiples of its lower limit or, for a remainder, of a factor of the divisor.
bool Simplifier::open_beside(Linear& s, const Int& low, const Int& high) {
  const bool finite = !high.is_zero();
  for (const Term& t : s.terms) {
    const NodeData& n = c_[t.atom];
    if (!n.is_digit()) continue;
    const Int from = n.first, end = n.second, ratio = floor_div(end, from);
    const Int lo = low.is_one() ? gcd(t.coef * ratio, high) : low;
    if (lo.is_one() || !divides(lo, t.coef * ratio)) continue;
    const Linear number = linear(n.args[0]);
    if (number.terms.size() + s.terms.size() > kLimits.joined_terms) continue;
    const Trace::Mark start = mark();
    const Int k = t.coef;
    Linear open = plus(s, t.atom, -k);
    add(open, digit(number, from, 0), k);
    const auto stays = [&](const Term& u) { return !divides(lo, u.coef); };
    const auto now = std::ranges::count_if(s.terms, stays);
    const auto then = std::ranges::count_if(open.terms, stays);
    if (finite ? then > 0 || now == 0 : then + 1 >= now) {
      rewind(start);
      continue;
    }
    law("digit.merge", "x", number, "a", from, "d", ratio, "k", k);
    add(open, digit(number, end, 0), -k * ratio);
    s = std::move(open);
    return true;
  }
  return false;
}

const Term* Simplifier::only_quotient(const Linear& s) const {
  const Term* only = nullptr;
  for (const Term& t : s.terms) {
    const NodeData& n = c_[t.atom];
    if (!n.is_quotient()) continue;
    if (only) return nullptr;
    only = &t;
  }
  return only;
}

bool Simplifier::fold_quotient(Linear& s, Int& lo, Int& hi) {
  const Term* const only = only_quotient(s);
  if (only && only->coef.is_one()) {
    const NodeData& n = c_[only->atom];
    const Int scale = n.first;
    if (c_[n.args[0]].terms.size() + s.terms.size() > kLimits.joined_terms) return false;
    Linear rest = s, folded = linear(n.args[0]);
    add(rest, only->atom, -1);
    // x // scale % m is already a digit of x, whatever the numbers.
    const bool digit_already = lo.is_one() && rest == Linear();
    if (!digit_already &&
        (lo * scale > kLimits.folded_number || hi * scale > kLimits.folded_number))
      return false;
    add(folded, rest, scale);
    if (!digit_already) {
      if (abs(folded.constant) > kLimits.folded_number) return false;
      for (const Term& t : folded.terms)
        if (abs(t.coef) > kLimits.folded_number) return false;
    }
    law("div.div", "x", n.args[0], "a", scale, "y", rest, "c", lo);
    s = std::move(folded);
    lo = lo * scale;
    hi = hi * scale;
    return true;
  }
  if (lo.is_one() || s.terms.size() != 1 || !s.constant.is_zero()) return false;
  const NodeData& n = c_[s.terms[0].atom];
  if (!s.terms[0].coef.is_one()) return false;
  if (n.kind == NodeKind::Mod) {
    const Linear x = linear(n.args[0]), whole = linear(n.args[1]);
    if (!divides(lo, content(whole))) return false;
    const Linear d = divided(whole, lo);
    if (!bounds(d).at_least(1)) return false;
    law("div.mod", "x", x, "a", 1, "c", lo, "d", d);
    s = modulo(digit(x, lo, 0), d);
    hi = floor_div(hi, lo);
    lo = 1;
    return true;
  }
  if (n.kind != NodeKind::Digit) return false;
  const Int from = n.first * lo;
  if (!divides(from, n.second)) return false;
  law("div.mod", [&](Instance& i) {
    i.bind("x", linear(n.args[0])).bind("a", n.first).bind("c", lo);
    i.bind("d", floor_div(n.second, from));
  });
  s = digit(linear(n.args[0]), from, n.second);
  hi = floor_div(hi, lo);
  lo = 1;
  return true;
}

// (y - x//a)//c is (y*a + a - 1 - x)//(c*a).
bool Simplifier::fold_fallen_quotient(Linear& s, Int& lo, Int& hi, Linear& whole) {
  const Int period = hi.is_zero() ? lo : hi;
  const Term* const only = only_quotient(s);
  if (!only || only->coef.is_one() || !divides(period, only->coef + 1)) return false;
  const NodeData& n = c_[only->atom];
  const Int scale = n.first, times = floor_div(only->coef + 1, period);
  const Linear dividend = linear(n.args[0]);
  const Id quotient = only->atom;
  if (dividend.terms.size() + s.terms.size() > kLimits.joined_terms) return false;
  const auto large = [](const Int& x) { return abs(x) > kLimits.folded_number; };
  Linear rest =
      shifted(plus(s, quotient, -only->coef), 1);  // plus 1, since -(x//a) is (-1 - x)//a + 1
  Linear other = shifted(-dividend, -1);
  Linear folded = plus(other, rest, scale);
  if (large(lo * scale) || large(hi * scale) || large(folded.constant) ||
      std::ranges::any_of(folded.terms, large, &Term::coef))
    return false;
  law("div.complement", "x", dividend, "c", scale);
  law("div.div", "x", other, "a", scale, "y", rest, "c", lo);
  if (hi.is_zero()) add(whole, quotient, times);
  s = std::move(folded);
  lo = lo * scale;
  hi = hi * scale;
  return true;
}

std::optional<Linear> Simplifier::two_valued(const Linear& s, const Int& lo, const Int& hi) {
  if (hi.is_zero() || lo.is_one()) return std::nullopt;
  Linear near = s, whole_periods;  // equal modulo the period, coefficients nearest to 0
  for (Term& t : near.terms)
    if (t.coef + t.coef > hi) {
      t.coef -= hi;
      whole_periods.terms.push_back({1, t.atom});
    }
  const Interval quotient = floor_div(lasting_bounds(near), lo);
  if (!quotient.lo || !quotient.hi || *quotient.hi - *quotient.lo > Int(1)) return std::nullopt;
  const Int turn = floor_div(hi, lo);
  if (!whole_periods.terms.empty())
    law("digit.period", "x", whole_periods, "k", hi, "y", near, "a", lo, "d", turn);
  const Linear whole = digit(near, lo, 0);
  law("digit.line", "x", whole, "k", 1, "y", 0, "m", *quotient.lo, "a", 1, "d", turn);
  const Int first = floor_mod(*quotient.lo, turn), rise = floor_mod(*quotient.hi, turn) - first;
  Linear r{first - *quotient.lo * rise, {}};
  add(r, whole, rise);
  return r;
}

// Tests the first coefficient that is not half the period, or else the constant.
bool Simplifier::above_half(const Linear& s, const Int& period) {
  for (const Term& t : s.terms)
    if (const Int twice = t.coef + t.coef; twice != period) return twice > period;
  return s.constant + s.constant >= period;
}

Linear Simplifier::complemented(const Linear& s, const Int& period) {
  Linear r = shifted(-s, period - 1);
  for (Term& t : r.terms) t.coef += period;
  return r;
}

void Simplifier::complement_laws(const Linear& s, const Int& lo, const Int& ratio) {
  if (!trace_) return;
  const Linear quotient = lo.is_one() ? s : digit(s, lo, 0);
  if (!lo.is_one()) law("div.complement", "x", s, "c", lo);
  law("mod.complement", "x", quotient, "b", ratio);
}

Linear Simplifier::new_digit(Linear s, Int lo, Int hi) {
  constexpr int kMostDropped = 16;
  Linear out;  // the result is out + scale * digit(s, lo, hi)
  Int scale = 1;
  int dropped = 0;
  bool reduced_digits = false, folded = false;
  for (int built = 0;;) {
    if (hi.is_zero() && lo.is_one()) {
      add(out, s, scale);
      return out;
    }
    if (!hi.is_zero() && hi == lo) return out;
    const bool finite = !hi.is_zero();
    const Int period = finite ? hi : lo;
    if (lo.is_one() && hi == Int(2) && !floor_mod(s.constant, 2).is_zero()) {
      s.constant -= 1;
      law("mod.flip", "x", s);
      add(out, Linear{1, {}}, scale);
      scale = -scale;
      continue;
    }
    if (finite && lower_digits(s, lo, period)) continue;
    if (open_beside(s, lo, hi)) continue;
    if (strided(s)) {
      // Terms dropped by a residue may return when a remainder is opened.
      if (finite && dropped < kMostDropped && drop_residues(s, lo, period)) {
        ++dropped;
        continue;
      }
      if (!lo.is_one() && drop_below_residue(s, lo, "div.residue")) continue;
    }
    const auto take = [&](const Int& g, Split parts) {
      if (g == hi) {  // the upper limit has no effect
        law("digit.window", [&](Instance& i) {
          i.bind("x", parts.quotient).bind("y", parts.remainder);
          i.bind("a", lo).bind("d", floor_div(hi, lo));
        });
        s = std::move(parts.remainder);
        hi = 0;
        return;
      }
      law(lo.is_one() ? "mod.split" : "div.split", [&](Instance& i) {
        i.bind("x", parts.quotient).bind("y", parts.remainder);
        i.bind("c", g).bind("d", floor_div(lo.is_one() ? hi : lo, g));
      });
      s = std::move(parts.quotient);
      if (lo.is_one()) {
        add(out, parts.remainder, scale);
        scale = scale * g;
      } else {
        lo = floor_div(lo, g);
      }
      if (finite) hi = floor_div(hi, g);
    };
    bool changed = false;
    for (const Term& factor : factors_below(s, lo, hi)) {
      auto parts = split(s, factor.coef, false);
      if (!parts) continue;
      take(factor.coef, *std::move(parts));
      changed = true;
      break;
    }
    // What was folded into one dividend would be opened again.
    if (auto opened = changed || folded ? std::nullopt : open_numbers(s, lo, hi, !reduced_digits)) {
      changed = true;
      if (opened->factor.is_zero()) {
        reduced_digits = true;  // once: building may join them again
        law(lo.is_one() ? "mod.period" : "digit.period", [&](Instance& i) {
          i.bind("x", opened->parts.quotient).bind("k", hi).bind("y", opened->parts.remainder);
          i.bind("c", hi).bind("a", lo).bind("d", floor_div(hi, lo));
        });
        s = std::move(opened->parts.remainder);
      } else {
        take(opened->factor, std::move(opened->parts));
      }
    }
    if (changed) continue;
    Linear above;
    if (fold_fallen_quotient(s, lo, hi, above)) {
      folded = true;
      add(out, above, scale);
      continue;
    }
    // Coefficients count only modulo the period: mod.period, div.period.
    const auto within = [&](const Int& n) { return n.sign() >= 0 && n < period; };
    const bool is_reduced = within(s.constant) && std::ranges::all_of(s.terms, within, &Term::coef);
    // Nested quotients and choices would be duplicated in the part that is taken out.
    const auto nests = [&](const Term& t) {
      const NodeData& n = c_[t.atom];
      return n.kind == NodeKind::Max || n.is_quotient();
    };
    const bool crowded =
        !finite && std::ranges::count_if(s.terms, nests) > std::ptrdiff_t{kLimits.nested_digits};
    if (!is_reduced && !crowded) {
      Linear reduced{floor_mod(s.constant, period), {}};
      Linear whole{floor_div(s.constant, period), {}};
      for (const Term& t : s.terms) {
        const Int r = floor_mod(t.coef, period);
        if (!r.is_zero()) reduced.terms.push_back({r, t.atom});
        if (!(t.coef - r).is_zero()) whole.terms.push_back({floor_div(t.coef - r, period), t.atom});
      }
      law(!finite       ? "div.period"
          : lo.is_one() ? "mod.period"
                        : "digit.period",
          [&](Instance& i) {
            i.bind("x", whole).bind("k", period).bind("y", reduced);
            i.bind("c", period).bind("a", lo).bind("d", floor_div(period, lo));
          });
      if (!finite) add(out, whole, scale);
      s = std::move(reduced);
    }
    if (!finite)
      if (const auto taken = turn_beside(s, lo)) {
        add(out, *taken, scale);
        continue;
      }
    if (fold_quotient(s, lo, hi)) {
      folded = true;
      continue;
    }
    // Choose between the digits of a number and of -1 minus it.
    const bool last_constant = s.constant == period - 1;
    if (finite && (last_constant || (!s.constant.is_zero() && above_half(s, period)))) {
      const Int last = floor_div(period, lo) - 1;
      complement_laws(s, lo, last + 1);
      s = complemented(s, period);
      add(out, Linear{last, {}}, scale);
      scale = -scale;
      continue;
    }
    const Id dividend = build(s);
    // Building may join terms so that the laws above apply again.
    if (!is(dividend, s)) {
      s = linear(dividend);
      if (++built < kLimits.dividend_forms) continue;
    }
    if (!finite && s.terms.size() == 1 && floor_mod(lo, 2).is_zero()) {
      const Int half = floor_div(lo, 2);
      const auto halves = [&](Linear x) {
        x.constant -= half;
        const Interval range = lasting_bounds(x);
        if (!range.at_least(0) || !range.at_most(lo - 1)) return false;
        law("div.half", "x", x, "c", half);
        s = std::move(x);
        lo = half;
        return true;
      };
      if (halves(s)) continue;
      const Linear whole = atom(s.terms[0].atom);
      const Trace::Mark start = mark();
      law("div.complement", "x", s, "c", lo);
      if (halves(complemented(s, lo))) {
        add(out, whole, scale);
        scale = -scale;
        continue;
      }
      rewind(start);
    }
    if (auto line = two_valued(s, lo, hi)) {
      add(out, *line, scale);
      return out;
    }
    if (!finite && s.terms.size() == 1 && s.terms[0].coef.is_one() && !s.constant.is_zero() &&
        c_.kind(s.terms[0].atom) == NodeKind::Digit && c_[s.terms[0].atom].first.is_one() &&
        c_[s.terms[0].atom].second == lo) {
      law("div.flag", "x", s, "c", lo);
      s.constant -= lo;
      add(out, negate(negative(std::move(s))), scale);
      return out;
    }
    if (!finite || lo.is_one()) {
      const Linear subjects[] = {s, Linear{period, {}}};
      const auto root = finite ? Rule::Root::Remainder : Rule::Root::Quotient;
      if (auto found = apply(root, subjects)) {
        add(out, *found, scale);
        return out;
      }
    }
    if (!finite && s.terms.size() == 1 && lo > Int(2) && s.constant == lo - 1 &&
        s.terms[0].coef == s.constant) {  // as in `complement`
      law("div.complement", "x", s, "c", lo);
      add(out, s.terms[0].atom, scale);
      s = atom(s.terms[0].atom);
      scale = -scale;
      continue;
    }
    Interval range = floor_div(c_.bounds(dividend), lo);
    if (finite) range = floor_mod(range, floor_div(hi, lo));
    const Id args[] = {dividend};
    add(out, node(NodeKind::Digit, args, range, lo, hi), scale);
    return out;
  }
}

}  // namespace touchstone::symbolic
