// Congruences, from the parts of an expression or from assumptions, decide remainders and drop
// terms that lie between two residues.
#include <algorithm>

#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

Congruence Simplifier::plain_congruence(const Linear& sum) const {
  Congruence r = Congruence::point(sum.constant);
  for (const Term& t : sum.terms) {
    if (r.is_trivial()) break;
    r = r + c_.congruence(t.atom) * t.coef;
  }
  return r;
}

Congruence Simplifier::residue_congruence(const Linear& sum, int most) const {
  Congruence found;
  for (const Residue& f : residues_)
    for (const Term& t : f.sum.terms) {
      const auto own = std::ranges::find(sum.terms, t.atom, &Term::atom);
      if (own == sum.terms.end() || !divides(t.coef, own->coef)) continue;
      const Int factor = floor_div(own->coef, t.coef);
      Linear rest = plus(sum, f.sum, -factor);  // sum = factor * f + rest
      Congruence c = plain_congruence(rest);
      if (most > 1 && !rest.terms.empty())
        c = meet(c, residue_congruence(rest, most - 1)).value_or(c);
      c = c + Congruence::of(f.modulus * factor, 0);
      found = meet(found, c).value_or(found);
    }
  return found;
}

Congruence Simplifier::congruence(const Linear& sum) const {
  const Congruence r = plain_congruence(sum);
  return residues_.empty() ? r : meet(r, residue_congruence(sum)).value_or(r);
}

bool Simplifier::strided(const Linear& s) const {
  return !residues_.empty() ||
         std::ranges::any_of(s.terms, [&](const Term& t) { return c_.strided(t.atom); });
}

bool Simplifier::lies_between_multiples(const Linear& s) const {
  for (const Term& t : s.terms) {
    const Int g = abs(t.coef);
    if (g.is_zero() || g.is_one()) continue;
    Linear rest{s.constant, {}};
    for (const Term& u : s.terms)
      if (!divides(g, u.coef)) rest.terms.push_back(u);
    const Interval range = bounds(rest);
    if (!range.lo || !range.hi) continue;
    if (floor_div(*range.lo - 1, g) == floor_div(*range.hi, g)) return true;
  }
  return false;
}

bool Simplifier::steps_over_zero(const Linear& s) const {
  if (lies_between_multiples(s)) return true;
  constexpr std::int64_t kMostValues = 64;  // bits of a set
  std::uint64_t reached = 1;                // bit i: the value least + i is reachable
  Int least = s.constant;
  std::int64_t span = 0;
  for (const Term& t : s.terms) {
    const Interval& range = c_.bounds(t.atom);
    if (!range.lo || !range.hi) return false;
    const auto step = abs(t.coef).small(), more = (*range.hi - *range.lo).small();
    if (!step || !more || *step >= kMostValues || *more >= kMostValues) return false;
    span += *step * *more;
    if (span >= kMostValues) return false;
    least += t.coef * (t.coef.sign() > 0 ? *range.lo : *range.hi);
    std::uint64_t wider = reached;
    for (std::int64_t k = 1; k <= *more; ++k) wider |= reached << (*step * k);
    reached = wider;
  }
  const auto zero_at = (-least).small();
  return !zero_at || *zero_at < 0 || *zero_at > span || (reached >> *zero_at & 1) == 0;
}

// For s < 0 with nonnegative terms and a limit: clamps coefficients to the limit.
bool Simplifier::saturate(Linear& s) {
  const Int limit = -s.constant;
  if (limit.sign() <= 0) return false;
  for (Term& t : s.terms) {
    if (t.coef <= limit || !bounds(Linear{0, {{1, t.atom}}}).at_least(0)) continue;
    Linear rest = plus(s, t.atom, -t.coef);
    rest.constant = 0;
    if (!bounds(rest).at_least(0)) continue;
    law("lt.saturate", [&](Instance& i) {
      i.bind("x", atom(t.atom)).bind("c", t.coef).bind("k", limit).bind("y", rest);
    });
    t.coef = limit;
    return true;
  }
  return false;
}

Simplifier::Residues Simplifier::residues_of(std::span<const Id> conditions,
                                             const Overlay& overlay) const {
  Residues found;
  List<Id> list(conditions.begin(), conditions.end());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const NodeData& n = c_[list[i]];
    if (n.kind == NodeKind::And) list.insert(list.end(), n.args.begin(), n.args.end());
    if (n.kind == NodeKind::Zero) found.push_back({linear(n.args[0]), 0});
  }
  for (const auto& [id, range] : overlay) {
    const NodeData& n = c_[id];
    if (n.kind != NodeKind::Digit || !range.is_point()) continue;
    Linear s = shifted(linear(n.args[0]), -*range.lo);
    found.push_back({std::move(s), n.second});
  }
  std::ranges::sort(found, [&](const Residue& a, const Residue& b) {  // not by id
    for (std::size_t i = 0; i < a.sum.terms.size() && i < b.sum.terms.size(); ++i) {
      const Term &t = a.sum.terms[i], &u = b.sum.terms[i];
      if (t.atom != u.atom) return compare(c_, t.atom, u.atom) < 0;
      if (t.coef != u.coef) return t.coef < u.coef;
    }
    if (a.sum.terms.size() != b.sum.terms.size()) return a.sum.terms.size() < b.sum.terms.size();
    return a.modulus != b.modulus ? a.modulus < b.modulus : a.sum.constant < b.sum.constant;
  });
  return found;
}

bool Simplifier::congruences_of(const Residues& residues, Table<Id, Congruence>& found) const {
  for (const Residue& r : residues)
    for (const Term& t : r.sum.terms) {
      if (c_.kind(t.atom) != NodeKind::Variable) continue;
      std::optional<Congruence> c;
      if (r.sum.terms.size() == 1) {
        c = solved(t.coef, r.sum.constant, r.modulus);
      } else if (abs(t.coef).is_one()) {  // the variable equals minus the rest
        Linear rest = plus(r.sum, t.atom, -t.coef);
        c = (plain_congruence(rest) + Congruence::of(r.modulus, 0)) * -t.coef;
      } else {
        continue;
      }
      if (!c) return false;
      if (c->is_trivial()) continue;
      const auto known = found.find(t.atom);
      c = meet(*c, known == found.end() ? c_.congruence(t.atom) : known->second);
      if (!c) return false;
      found.insert_or_assign(t.atom, *c);
    }
  return true;
}

bool Simplifier::drop_residues(Linear& s, const Int& lo, const Int& period) {
  const auto take = [&](Linear part, const Int& residue) {
    Linear rest = plus(s, part, -1);
    law(lo.is_one() ? "mod.residue" : "digit.residue", [&](Instance& i) {
      i.bind("x", part).bind("y", rest).bind("k", residue);
      i.bind("c", period).bind("a", lo).bind("d", floor_div(period, lo));
    });
    s = std::move(rest);
    s.constant += residue;
  };
  for (const Term& t : s.terms) {
    if (!c_.strided(t.atom)) continue;
    const Congruence c = floor_mod(c_.congruence(t.atom) * t.coef, period);
    if (!c.modulus.is_zero()) continue;
    take(Linear{0, {t}}, c.residue);
    return true;
  }
  for (const Residue& f : residues_)
    for (const Term& t : f.sum.terms) {
      const auto own = std::ranges::find(s.terms, t.atom, &Term::atom);
      if (own == s.terms.end() || !divides(t.coef, own->coef)) continue;
      const Int factor = floor_div(own->coef, t.coef);
      if (!divides(period, factor * f.modulus)) continue;
      Linear whole, rest = s;
      add(whole, f.sum, factor);
      add(rest, whole, -1);
      if (rest.terms.size() >= s.terms.size()) continue;
      take(std::move(whole), 0);
      return true;
    }
  return false;
}

bool Simplifier::drop_below_residue(Linear& s, const Int& divisor, std::string_view rule) {
  const auto drop = [&](const Int& g) {
    if (g.is_zero() || g.is_one()) return false;
    Linear above{s.constant, {}}, below;
    Congruence c = Congruence::point(0);
    for (const Term& t : s.terms) {
      const Congruence own = c_.congruence(t.atom) * t.coef;
      const bool known = divides(g, own.modulus);
      (known ? above : below).terms.push_back(t);
      if (known) c = c + own;
    }
    Int k = floor_mod(c.residue, g);
    if (!residues_.empty() && !below.terms.empty()) {  // or all terms together
      const Congruence all = floor_mod(congruence(Linear{0, s.terms}), g);
      if (all.modulus.is_zero()) {
        above.terms = s.terms;
        below.terms.clear();
        k = all.residue;
      }
    }
    const Interval range = below.terms.empty() ? Interval::point(0) : bounds(below);
    if (above.terms.empty() || !range.lo || !range.hi) return false;
    // Shift the constant so that k + below starts in [0, g).
    below.constant = floor_mod(k + *range.lo + s.constant, g) - k - *range.lo;
    if (k + below.constant + *range.hi >= g) return false;
    if (below.terms.empty() && below.constant.is_zero()) return false;
    above.constant -= below.constant;
    law(rule, [&](Instance& i) {
      i.bind("x", above).bind("y", below).bind("c", g).bind("k", k);
      if (!divisor.is_zero()) i.bind("d", floor_div(divisor, g));
    });
    s = std::move(above);
    return true;
  };
  const Linear terms{0, s.terms};
  for (const Term& t : terms.terms)
    if (c_.strided(t.atom)) {
      const Int g = gcd((c_.congruence(t.atom) * t.coef).modulus, divisor);
      const std::size_t before = s.terms.size();
      Linear kept = s;
      const Trace::Mark start = mark();
      if (!drop(g)) continue;
      if (s.terms.size() < before) return true;
      rewind(start);
      s = std::move(kept);
    }
  return drop(gcd(congruence(terms).modulus, divisor));
}

bool Simplifier::open_exact_quotients(Linear& s) {
  for (const Term& t : s.terms) {
    const NodeData& n = c_[t.atom];
    if (n.kind != NodeKind::Digit || n.first.is_one() || !divides(n.first, t.coef)) continue;
    const Linear dividend = linear(n.args[0]);
    const Int lo = n.first, hi = n.second;
    const Congruence c = floor_mod(congruence(dividend), lo);
    if (!c.modulus.is_zero()) continue;
    law(hi.is_zero() ? "div.exact" : "digit.exact", [&](Instance& i) {
      i.bind("x", dividend).bind("c", lo).bind("k", c.residue);
      if (!hi.is_zero()) i.bind("d", floor_div(hi, lo));
    });
    const Term term = t;
    Linear whole = shifted(hi.is_zero() ? dividend : digit(dividend, 1, hi), -c.residue);
    add(s, term.atom, -term.coef);
    add(s, whole, floor_div(term.coef, lo));
    return true;
  }
  return false;
}

}  // namespace touchstone::symbolic
