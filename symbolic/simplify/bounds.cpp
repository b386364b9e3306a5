// Bounds of sums: term by term, and by relations between the terms.
#include <algorithm>

#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

namespace {

/// Bounds of s + factor * other term by term; range_of(atom) returns an atom's bounds.
template <class RangeOf>
Interval bounds_of_both(const Linear& s, const Int& constant, std::span<const Term> other,
                        const Int& factor, const RangeOf& range_of) {
  Interval r = Interval::point(s.constant + constant * factor);
  for (const Term& t : s.terms) {
    const Term* const too = find_term(other, t.atom);
    r.add_product(range_of(t.atom), too ? t.coef + too->coef * factor : t.coef);
  }
  for (const Term& t : other)
    if (!find_term(s.terms, t.atom)) r.add_product(range_of(t.atom), t.coef * factor);
  return r;
}

Linear without_term(const Linear& s, std::size_t i) {
  Linear r = s;
  r.terms.erase(r.terms.begin() + i);
  return r;
}

/// The larger of two values, or the smaller one under a negative coefficient.
Interval chosen_of(const Interval& a, const Interval& b, const Int& coef) {
  return coef.sign() > 0 ? larger(a, b) : larger(a * Int(-1), b * Int(-1)) * Int(-1);
}

}  // namespace

Interval Simplifier::plain_bounds(const Linear& sum) const {
  Interval r = Interval::point(sum.constant);
  for (const Term& t : sum.terms) r.add_product(c_.bounds(t.atom), t.coef);
  return r;
}

Simplifier::KnownBounds* Simplifier::place_of(const Linear& sum, std::uint32_t facts) const {
  constexpr std::uint32_t kFew = 64;
  constexpr std::size_t kPlaces = 1024;
  if (asked_ < kFew) {
    ++asked_;
    return nullptr;
  }
  if (known_.empty()) known_.resize(kPlaces);
  return &known_[(c_.hash_sum(sum.constant, sum.terms) + facts) & (kPlaces - 1)];
}

Interval Simplifier::bounds(const Linear& sum) const {
  if (sum.terms.empty()) return Interval::point(sum.constant);
  if (facts_.empty() && residues_.empty()) return lasting_bounds(sum);
  KnownBounds* const known = place_of(sum, facts_in_force_);
  if (known && known->facts == facts_in_force_ && known->sum == sum) return known->bounds;
  Interval r = lasting_bounds(sum);
  r = meet(r, fact_bounds(sum));
  if (!r.lo || !r.hi) r = meet(r, part_bounds(sum));
  if (!r.lo && !r.hi && facts_.size() > 2 && facts_.size() <= kLimits.chained_facts)
    r = meet(r, fact_bounds(sum, kLimits.chained_facts));
  r = trimmed(r, congruence(sum)).value_or(r);
  if (known) *known = {sum, r, facts_in_force_};
  return r;
}

Interval Simplifier::part_bounds(const Linear& sum) const {
  Interval r = Interval::point(sum.constant);
  bool known = false;
  for (const Term& t : sum.terms) {
    const NodeData& n = c_[t.atom];
    Interval own = n.bounds;
    const auto part = [&](std::size_t i) { return bounds(linear(n.args[i])); };
    const bool quotient = n.is_quotient();
    if ((quotient || n.kind == NodeKind::Max) && c_.height(t.atom) <= kLimits.fact_height) {
      Interval range = quotient ? floor_div(part(0), n.first) : Interval::point(0);
      for (std::size_t i = 0; !quotient && i < n.args.size(); ++i) range = larger(range, part(i));
      own = meet(own, range);
      known = true;
    }
    r.add_product(own, t.coef);
  }
  if (!known) return {};
  const bool several = sum.terms.size() > 1 && sum.terms.size() <= kLimits.fact_terms;
  if (!several) return r;
  r = meet(r, relaxed_bounds(sum, true));
  // A maximum is one of its members, each of which the facts may bound together with the rest.
  const auto whole = [&](const Linear& s) { return meet(lasting_bounds(s), fact_bounds(s)); };
  for (std::size_t i = 0; i < sum.terms.size(); ++i) {
    const Term& t = sum.terms[i];
    if (c_.kind(t.atom) != NodeKind::Max) continue;
    const Linear rest = without_term(sum, i);
    Interval range = whole(rest);
    for (const Id member : c_[t.atom].args)
      range = chosen_of(range, whole(plus(rest, member, t.coef)), t.coef);
    r = meet(r, range);
  }
  return r;
}

Interval Simplifier::bounds_of_sum(const Linear& a, const Linear& b, const Int& factor) const {
  const auto variables = [&](const Linear& s) {
    return std::ranges::all_of(
        s.terms, [&](const Term& t) { return c_.kind(t.atom) == NodeKind::Variable; });
  };
  if (facts_.empty() && residues_.empty() && variables(a) && variables(b))
    return bounds_of_both(a, b.constant, b.terms, factor,
                          [&](Id atom) -> const Interval& { return c_.bounds(atom); });
  Linear sum = plus(a, b, factor);
  return bounds(sum);
}

Interval Simplifier::lasting_bounds(const Linear& sum) const {
  Interval r = Interval::point(sum.constant);
  unsigned seen = 0, shared = 0;  // variables, and those in several terms
  for (const Term& t : sum.terms) {
    r.add_product(c_.bounds(t.atom), t.coef);
    const unsigned own = c_.variables_in(t.atom);
    shared |= seen & own;
    seen |= own;
  }
  // Terms that share no variables are bounded best one by one.
  if (shared == 0) return r;
  bool quotients = false, flags = false;
  int choices = 0, products = 0, remainders = 0;
  for (const Term& t : sum.terms) {
    const NodeKind kind = c_.kind(t.atom);
    if (kind == NodeKind::Variable) continue;
    quotients |= kind == NodeKind::Digit && c_[t.atom].second.is_zero();
    flags |= kind == NodeKind::Negative || kind == NodeKind::Zero;
    remainders += kind == NodeKind::Mod || kind == NodeKind::TruncMod;
    choices += kind == NodeKind::Max || kind == NodeKind::Select;
    products += kind == NodeKind::Product && c_[t.atom].args.size() == 2;
  }
  const bool choose = choices > 0 && choices <= kLimits.bounded_choices;
  const auto small = [](const End& end) { return !end || end->is_small(); };
  const bool multiply =
      products > 0 && products <= kLimits.bounded_choices && small(r.lo) && small(r.hi);
  const bool divide = remainders > 0 && remainders <= kLimits.bounded_choices;
  const bool bend = choices > 0 && sum.terms.size() <= kLimits.case_terms;
  if (!quotients && !choose && !flags && !multiply && !divide && !bend) return r;
  if (last_sum_ == sum) return last_bounds_;
  KnownBounds* const known = place_of(sum, 0);
  if (known && known->facts == 0 && known->sum == sum) return known->bounds;
  if (choices > 1)
    if (const auto apart = bounds_of_groups(sum, shared)) {
      if (known) *known = {sum, *apart, 0};
      return *apart;
    }
  if (r.lo || r.hi || !choose || !unbounded(sum)) {
    const Interval plain = r;  // its ends are congruent to the sum
    if (quotients) r = meet(r, relaxed_bounds(sum));
    if (choose) r = meet(r, choice_bounds(sum, shared));
    if ((choose || flags) && choices <= kLimits.bounded_choices)
      r = meet(r, case_bounds(sum, shared));
    if (bend) r = meet(r, bend_bounds(sum));
    if (multiply) r = meet(r, product_bounds(sum));
    if (divide) r = meet(r, remainder_bounds(sum));
    if (!(r == plain)) r = trimmed(r, plain_congruence(sum)).value_or(r);
  }
  if (known) *known = {sum, r, 0};
  last_sum_ = sum;
  last_bounds_ = r;
  return r;
}

std::optional<Interval> Simplifier::bounds_of_groups(const Linear& sum, unsigned shared) const {
  struct Group {
    unsigned variables;
    Linear sum;
  };
  SmallVector<Group, 4> groups;
  Interval alone = Interval::point(sum.constant);
  int several = 0;
  for (const Term& t : sum.terms) {
    Group own{c_.variables_in(t.atom), Linear{0, {t}}};
    if ((own.variables & shared) == 0) {
      alone.add_product(c_.bounds(t.atom), t.coef);
      continue;
    }
    for (std::size_t i = groups.size(); i-- > 0;) {
      if ((groups[i].variables & own.variables) == 0) continue;
      own.variables |= groups[i].variables;
      add(own.sum, groups[i].sum);
      groups.erase(groups.begin() + i);
    }
    groups.push_back(std::move(own));
  }
  for (const Group& g : groups) several += g.sum.terms.size() > 1 ? 1 : 0;
  if (several < 2) return std::nullopt;
  for (const Group& g : groups) alone = alone + lasting_bounds(g.sum);
  return trimmed(alone, plain_congruence(sum)).value_or(alone);
}

Interval Simplifier::relaxed_bounds(const Linear& sum, bool under_facts) const {
  // x//a is x/a minus at most (a-1)/a: clearing denominators lets x cancel with its other uses.
  Int scale = 1;
  int several = 0;
  for (const Term& t : sum.terms) {
    const NodeData& n = c_[t.atom];
    if (!n.is_quotient()) continue;
    scale = scale * floor_div(n.first, gcd(scale, n.first));
    if (++several > 1 && !scale.is_small()) return {};
  }
  Linear straight{sum.constant * scale, {}};
  Interval slack = Interval::point(0);
  for (const Term& t : sum.terms) {
    const NodeData& n = c_[t.atom];
    if (!n.is_quotient()) {
      add(straight, Linear{0, {t}}, scale);
      continue;
    }
    const Int part = t.coef * floor_div(scale, n.first);
    add(straight, n.args[0], part);
    slack = slack + Interval{Int(0), n.first - 1} * -part;
  }
  Interval whole = plain_bounds(straight);
  if (under_facts) whole = meet(whole, fact_bounds(straight));
  const auto chooses = [&](const Term& t) {
    return c_.kind(t.atom) == NodeKind::Max || c_.kind(t.atom) == NodeKind::Select;
  };
  // Without the quotients, choices combine with neighbouring terms.
  if (const auto choices = std::ranges::count_if(straight.terms, chooses);
      choices > 0 && choices <= kLimits.bounded_choices)
    whole = meet(whole, choice_bounds(straight, ~0U));
  Interval r = whole + slack;
  if (r.lo) r.lo = -floor_div(-*r.lo, scale);
  if (r.hi) r.hi = floor_div(*r.hi, scale);
  return r;
}

Interval Simplifier::choice_bounds(const Linear& sum, unsigned shared) const {
  Interval r;
  const auto range_of = [&](Id atom) -> const Interval& { return c_.bounds(atom); };
  const auto quotient = [&](const Term& t) { return c_[t.atom].is_quotient(); };
  const auto chooses = [&](const Term& t) {
    return c_.kind(t.atom) == NodeKind::Select || c_.kind(t.atom) == NodeKind::Max;
  };
  for (std::size_t i = 0; i < sum.terms.size(); ++i) {
    const Term& t = sum.terms[i];
    if ((c_.variables_in(t.atom) & shared) == 0) continue;
    const NodeData& n = c_[t.atom];
    if (!chooses(t)) continue;
    const Linear rest = without_term(sum, i);
    Interval range = plain_bounds(rest);
    for (const Id id : n.kind == NodeKind::Max ? n.args : n.args.subspan(1)) {
      const NodeData& m = c_[id];
      const Term alone[] = {{1, id}};
      const bool constant = m.kind == NodeKind::Constant,
                 listed = constant || m.kind == NodeKind::Sum;
      Interval other =
          bounds_of_both(rest, listed ? m.first : Int(0),
                         listed ? m.terms : std::span<const Term>(alone), t.coef, range_of);
      if (std::ranges::any_of(rest.terms, quotient) ||
          (listed && std::ranges::any_of(m.terms, quotient))) {
        Linear chosen = plus(rest, id, t.coef);  // its quotients may share parts
        if (std::ranges::none_of(chosen.terms, chooses))
          other = meet(other, relaxed_bounds(chosen));
      }
      range = n.kind == NodeKind::Select ? hull(range, other) : chosen_of(range, other, t.coef);
    }
    r = meet(r, range);
  }
  return r;
}

Interval Simplifier::bend_bounds(const Linear& sum) const {
  Interval r = Interval::point(0);
  struct Bend {  // factor * max(0, constant + slope * t)
    Int factor, constant, slope;
  };
  const auto bends = [&](const Term& t) {
    return c_.kind(t.atom) == NodeKind::Max && c_[t.atom].args.size() == 1;
  };
  Linear rest = sum;
  for (;;) {
    const auto first = std::ranges::find_if(rest.terms, bends);
    if (first == rest.terms.end()) break;
    const auto direction = [&](const Linear& u) {  // u without its constant, as slope * t
      Int slope = u.terms[0].coef;
      for (const Term& t : u.terms) slope = gcd(slope, t.coef);
      if (u.terms[0].coef.sign() < 0) slope = -slope;
      return std::pair(slope, divided(Linear{0, u.terms}, slope));
    };
    const Linear line = direction(linear(c_[first->atom].args[0])).second;
    SmallVector<Bend, 4> bent;
    Linear beside{rest.constant, {}};
    for (const Term& t : rest.terms) {
      if (!bends(t)) {
        beside.terms.push_back(t);
        continue;
      }
      const Linear u = linear(c_[t.atom].args[0]);
      auto [slope, own] = direction(u);
      if (own == line)
        bent.push_back({t.coef, u.constant, slope});
      else
        beside.terms.push_back(t);
    }
    Int straight = 0;
    if (const Term* const t = find_term(beside.terms, line.terms[0].atom);
        t && divides(line.terms[0].coef, t->coef))
      straight = floor_div(t->coef, line.terms[0].coef);
    if (std::ranges::all_of(line.terms, [&](const Term& part) {
          const Term* const own = find_term(beside.terms, part.atom);
          return own && own->coef == straight * part.coef;
        }))
      add(beside, line, -straight);
    else
      straight = 0;
    rest = std::move(beside);
    const auto at = [&](const Int& t) {
      Int value = straight * t;
      for (const Bend& b : bent) value += b.factor * larger(Int(0), b.constant + b.slope * t);
      return value;
    };
    const auto growth = [&](int way) {  // slope towards infinity
      Int slope = straight;
      for (const Bend& b : bent)
        if (b.slope.sign() == way) slope += b.factor * b.slope;
      return slope * Int(way);
    };
    const Interval range = lasting_bounds(line);
    std::optional<Interval> values;
    const auto look = [&](const Int& t) {
      if ((range.lo && t < *range.lo) || (range.hi && *range.hi < t)) return;
      const Interval value = Interval::point(at(t));
      values = values ? hull(*values, value) : value;
    };
    if (range.lo) look(*range.lo);
    if (range.hi) look(*range.hi);
    for (const Bend& b : bent) {
      const Int turn = floor_div(-b.constant, b.slope);
      look(turn);
      look(turn + 1);
    }
    if (!values) return {};  // no end and no breakpoint
    for (const int way : {1, -1}) {
      if (way > 0 ? range.hi.has_value() : range.lo.has_value()) continue;
      const int sign = growth(way).sign();
      if (sign > 0) values->hi.reset();
      if (sign < 0) values->lo.reset();
    }
    r = r + *values;
  }
  return r + plain_bounds(rest);
}

Interval Simplifier::case_bounds(const Linear& sum, unsigned shared) const {
  Interval r;
  if (sum.terms.size() > kLimits.case_terms) return r;
  for (std::size_t i = 0; i < sum.terms.size(); ++i) {
    const Term& t = sum.terms[i];
    if ((c_.variables_in(t.atom) & shared) == 0) continue;
    const NodeData& n = c_[t.atom];
    const bool flag = n.kind == NodeKind::Negative || n.kind == NodeKind::Zero;
    const bool step = n.kind == NodeKind::Max && n.args.size() == 1;
    if (!flag && !step && n.kind != NodeKind::Select) continue;
    const Linear no = without_term(sum, i);
    Linear yes = no;
    std::optional<Interval> held, missed;
    if (step) {  // u where u > 0, else 0
      const Linear above = -linear(n.args[0]), below = shifted(linear(n.args[0]), -1);
      add(yes, n.args[0], t.coef);
      held = bounds_below(yes, {&above, 1});
      missed = bounds_below(no, {&below, 1});
    } else {
      if (flag)
        yes.constant += t.coef;
      else
        add(yes, n.args[1], t.coef);
      const Id condition = flag ? t.atom : n.args[0];
      held = bounds_where(yes, condition, true);
      missed = bounds_where(no, condition, false);
    }
    if (held && missed)
      r = meet(r, hull(*held, *missed));
    else if (held || missed)
      r = meet(r, held ? *held : *missed);
  }
  return r;
}

std::optional<Interval> Simplifier::bounds_where(const Linear& s, Id condition, bool truth) const {
  const Id flag = negated(condition);
  if (flag != condition) truth = !truth;
  const NodeData& n = c_[flag];
  if (n.kind == NodeKind::Negative) {
    const Linear fact = truth ? linear(n.args[0]) : shifted(-linear(n.args[0]), -1);
    return bounds_below(s, {&fact, 1});
  }
  if (n.kind == NodeKind::Zero) {
    const Linear zero = linear(n.args[0]);
    if (!truth) return bounds_apart(s, zero);
    const Linear facts[] = {shifted(zero, -1), shifted(-zero, -1)};
    return bounds_below(s, facts);
  }
  if (n.kind == NodeKind::And && truth) {
    List<Linear> facts;
    for (const Id part : n.args)
      if (auto below = comparison(part)) facts.push_back(std::move(*below));
    return bounds_below(s, facts);
  }
  return plain_bounds(s);
}

std::optional<Interval> Simplifier::bounds_below(const Linear& s,
                                                 std::span<const Linear> facts) const {
  SmallVector<std::pair<Id, Interval>, 4> narrow;
  for (const Linear& f : facts) {
    if (f.terms.size() != 1) continue;
    const Term& t = f.terms[0];
    auto at = std::find_if(narrow.begin(), narrow.end(),
                           [&](const auto& x) { return x.first == t.atom; });
    if (at == narrow.end()) {
      narrow.emplace_back(t.atom, c_.bounds(t.atom));
      at = narrow.end() - 1;
    }
    Interval& range = at->second;
    range.narrow(t.coef, -f.constant - 1);
    if (range.lo && range.hi && *range.hi < *range.lo) return std::nullopt;
  }
  const auto range_of = [&](Id atom) -> const Interval& {
    for (const auto& [id, range] : narrow)
      if (id == atom) return range;
    return c_.bounds(atom);
  };
  Interval r = Interval::point(s.constant);
  for (const Term& t : s.terms) r.add_product(range_of(t.atom), t.coef);
  for (const Linear& f : facts) {
    if (f.terms.size() < 2) continue;
    Int last = 0;  // the last factor tried
    for (const Term& t : f.terms) {
      const Term* const own = find_term(s.terms, t.atom);
      if (!own || !divides(t.coef, own->coef)) continue;
      const Int factor = floor_div(own->coef, t.coef);
      if (factor == last) continue;
      last = factor;
      // s = factor * f + rest, and f <= -1
      Interval range = bounds_of_both(s, f.constant, f.terms, -factor, range_of);
      (factor.sign() > 0 ? range.lo : range.hi).reset();
      if (range.hi) *range.hi -= factor;
      if (range.lo) *range.lo -= factor;
      if ((r.lo && range.hi && *range.hi < *r.lo) || (r.hi && range.lo && *r.hi < *range.lo))
        return std::nullopt;
      r = meet(r, range);
    }
  }
  return r;
}

std::optional<Interval> Simplifier::bounds_apart(const Linear& s, const Linear& other) const {
  Interval r = plain_bounds(s);
  if (other.terms.size() != 1 || !divides(other.terms[0].coef, other.constant)) return r;
  const Id id = other.terms[0].atom;
  const auto own = std::ranges::find(s.terms, id, &Term::atom);
  if (own == s.terms.end()) return r;
  const Int value = floor_div(-other.constant, other.terms[0].coef);
  Interval range = c_.bounds(id);  // excludes an end
  if (range.lo && *range.lo == value) *range.lo += 1;
  if (range.hi && *range.hi == value) *range.hi -= 1;
  if (range.lo && range.hi && *range.hi < *range.lo) return std::nullopt;
  Linear rest = plus(s, id, -own->coef);
  r = plain_bounds(rest);
  r.add_product(range, own->coef);
  return r;
}

Interval Simplifier::remainder_bounds(const Linear& sum) const {
  Interval r;
  for (const Term& t : sum.terms) {  // x % y is at most y - 1, tmod(x, y) also at least 1 - y
    const NodeData& n = c_[t.atom];
    if ((n.kind != NodeKind::Mod && n.kind != NodeKind::TruncMod) ||
        !c_.bounds(n.args[1]).at_least(1))
      continue;
    for (const int sign : {1, -1}) {
      if (n.kind == NodeKind::Mod && sign < 0) continue;
      Linear end = plus(sum, t.atom, -t.coef);
      add(end, n.args[1], t.coef * sign);
      end.constant -= t.coef * sign;
      Interval range = meet(plain_bounds(end), product_bounds(end));
      (t.coef.sign() == sign ? range.lo : range.hi).reset();
      r = meet(r, range);
    }
  }
  return r;
}

Interval Simplifier::product_bounds(const Linear& sum, int most) const {
  Interval r;
  for (const Term& t : sum.terms) {
    const NodeData& n = c_[t.atom];
    if (n.kind != NodeKind::Product || n.args.size() != 2) continue;
    const Id u = n.args[0], v = n.args[1];
    const auto shares = [&](const Term& other) {
      const NodeData& o = c_[other.atom];
      const auto is_factor = [&](Id id) { return id == u || id == v; };
      return other.atom != t.atom &&
             (is_factor(other.atom) ||
              (o.kind == NodeKind::Product && std::ranges::any_of(o.args, is_factor)));
    };
    if (std::ranges::none_of(sum.terms, shares)) continue;
    const Interval x = c_.bounds(u), y = c_.bounds(v);
    Linear rest = sum;
    rest.terms.erase(rest.terms.begin() + (&t - sum.terms.begin()));
    // coef * (a*u + b*v + c) bounds the term from below or above.
    const bool alone = c_.kind(u) != NodeKind::Sum && c_.kind(v) != NodeKind::Sum &&
                       (most == 1 || std::ranges::none_of(rest.terms, [&](const Term& other) {
                          return c_.kind(other.atom) == NodeKind::Product;
                        }));
    const auto with = [&](const Int& a, const Int& b, const Int& c, bool below) {
      Interval range;
      if (alone) {
        const Term line[] = {{a, u}, {b, v}};
        range = bounds_of_both(rest, c, std::span(line, u == v ? 1 : 2), t.coef,
                               [&](Id atom) -> const Interval& { return c_.bounds(atom); });
      } else {
        Linear line = plus(rest, u, a * t.coef);
        add(line, v, b * t.coef);
        line.constant += c * t.coef;
        range = plain_bounds(line);
        if (most > 1) range = meet(range, product_bounds(line, most - 1));
      }
      (below == (t.coef.sign() > 0) ? range.hi : range.lo).reset();
      r = meet(r, range);
    };
    if (u == v) {
      if (x.lo && x.hi) with(*x.lo + *x.hi, 0, -(*x.lo * *x.hi), false);
      const auto own = std::ranges::find(sum.terms, u, &Term::atom);
      const Int b = own == sum.terms.end() ? Int(0) : own->coef;
      const Int turn = floor_div(-b, t.coef + t.coef);  // vertex of the parabola
      const auto chord = [&](const Int& w) { with(w + w + 1, 0, -(w * (w + 1)), true); };
      if (x.lo) chord(*x.lo);
      if (x.hi) chord(*x.hi - 1);
      chord(turn - 1);
      chord(turn);
      continue;
    }
    const auto corner = [&](const End& a, const End& b, bool below) {
      if (a && b) with(*b, *a, -(*a * *b), below);
    };
    corner(x.lo, y.lo, true);
    corner(x.hi, y.hi, true);
    corner(x.lo, y.hi, false);
    corner(x.hi, y.lo, false);
  }
  return r;
}

}  // namespace touchstone::symbolic
