// Bounds of expressions under facts: of atoms, of sums term by term, by adding facts, and by cases.
#include <algorithm>

#include "touchstone/base/interrupt.h"
#include "touchstone/symbolic/check/entailment.h"
#include "touchstone/symbolic/check/inequalities.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

namespace {

bool empty(const Interval& r) { return r.lo && r.hi && *r.hi < *r.lo; }

}  // namespace

Interval Entailment::both(const Interval& a, const Interval& b) {
  Interval r = a;
  if (b.lo && (!r.lo || *r.lo < *b.lo)) r.lo = b.lo;
  if (b.hi && (!r.hi || *b.hi < *r.hi)) r.hi = b.hi;
  if (!empty(r)) return r;
  contradictory_ = true;  // both hold wherever the facts do
  return a;
}

void Entailment::narrow(AtomId a, const Interval& range) {
  Interval& now = known_[a];
  if (range.lo && (!now.lo || *now.lo < *range.lo)) now.lo = range.lo;
  if (range.hi && (!now.hi || *range.hi < *now.hi)) now.hi = range.hi;
  contradictory_ |= empty(now);
}

void Entailment::tighten() {
  settled_ = true;
  for (int round = 0; round < kLimits.entailed_rounds && !contradictory_; ++round) {
    for (const PolyId p : nonzero_) {  // nonzero and nonnegative: positive
      memo_.clear();
      const PolyId above = ring_->add(ring_->constant(1), p, -1);
      if (plain(p).at_least(0) && std::ranges::find(facts_, above) == facts_.end())
        facts_.push_back(above);
    }
    for (const PolyId fact : facts_) {
      memo_.clear();
      const Poly& f = (*ring_)[fact];
      contradictory_ |= plain(fact).at_least(1);
      for (const auto& [m, c] : f.terms) {
        if (m.size() != 1) continue;
        // c * atom <= -rest
        const Interval rest = plain(ring_->add(fact, ring_->monomial(m, c), -1));
        if (!rest.lo) continue;
        Interval range;
        if (c.sign() > 0)
          range.hi = floor_div(-*rest.lo, c);
        else
          range.lo = -floor_div(-*rest.lo, -c);
        narrow(m[0], range);
      }
    }
  }
  memo_.clear();
  find_residues();
}

void Entailment::find_residues() {
  for (const auto& [id, range] : known_) {
    const Atom& a = ring_->atom(id);
    if (a.kind != AtomKind::Remainder || !(*ring_)[a.parts[1]].is_constant()) continue;
    const Int d = (*ring_)[a.parts[1]].constant();
    const Interval value = d.sign() > 0 ? both(range, Interval{Int(0), d - 1}) : range;
    if (!value.is_point()) continue;
    if (!d.is_zero()) add_residue(ring_->add(a.parts[0], ring_->constant(*value.lo), -1), abs(d));
  }
  for (std::size_t i = 0; i < residues_.size(); ++i) {
    const auto [p, modulus] = residues_[i];
    const Poly f = (*ring_)[p];
    if (modulus.is_zero())
      for (const auto& [m, c] : f.terms) {
        const Int by = abs(c);
        const auto stays = [&](const auto& term) {
          return !term.first.empty() && !divides(by, term.second);
        };
        if (!by.is_one() && std::ranges::count_if(f.terms, stays) <= 1) add_residue(p, by);
      }
    solve_residue(p, modulus);
  }
}

void Entailment::add_residue(PolyId p, const Int& modulus) {
  static const Int most = Int(kLimits.residue_modulus) * Int(kLimits.residue_modulus);
  if (modulus > most) return;
  for (const PolyId q : {p, ring_->reduced(p, modulus)})
    if (const std::pair<PolyId, Int> found{q, modulus};
        residues_.size() < kLimits.residues &&
        std::ranges::find(residues_, found) == residues_.end())
      residues_.push_back(found);
}

void Entailment::solve_residue(PolyId p, const Int& modulus) {
  if (modulus <= Int(1)) return;
  const Poly f = (*ring_)[p];
  for (const auto& [m, c] : f.terms) {
    if (m.empty()) continue;
    const bool alone = f.terms.size() == (f.constant().is_zero() ? 1 : 2);
    if (alone && m.size() == 1) {
      const auto values = symbolic::solved(c, f.constant(), modulus);
      const auto left = values ? symbolic::trimmed(atom_bounds(m[0]), *values) : std::nullopt;
      contradictory_ |= !left;
      if (left) narrow(m[0], *left);
    }
    if (f.terms.size() > kLimits.entailed_terms || !gcd(c, modulus).is_one()) continue;
    const Int inverse = symbolic::solved(c, -1, modulus)->residue;
    add_residue(ring_->reduced(ring_->multiply(p, ring_->constant(inverse)), modulus), modulus);
  }
  memo_.clear();
}

Congruence Entailment::atom_congruence(AtomId id, int depth) {
  if (depth == 0) return {};
  const Atom& a = ring_->atom(id);
  const auto part = [&](std::size_t i) { return congruence(a.parts[i], depth - 1); };
  Congruence r;
  switch (a.kind) {
    case AtomKind::Quotient:
      if (!divides_surely(a.parts[1])) break;
      if (const Congruence d = part(1); d.modulus.is_zero() && d.residue.sign() > 0)
        r = floor_div(part(0), d.residue);
      break;
    case AtomKind::Remainder:
      if (!divides_surely(a.parts[1])) break;
      if (const Congruence d = part(1); !d.modulus.is_zero() || !d.residue.is_zero())
        r = floor_mod(part(0), d);
      break;
    case AtomKind::Max:
      r = Congruence::point(0);
      for (std::size_t i = 0; i < a.parts.size() && !r.is_trivial(); ++i) r = hull(r, part(i));
      break;
    case AtomKind::Product:
      r = Congruence::point(1);
      for (std::size_t i = 0; i < a.parts.size() && !r.is_trivial(); ++i) r = r * part(i);
      break;
    default: break;
  }
  for (const auto& [p, modulus] : residues_) {
    const Poly& f = (*ring_)[p];
    if (modulus.is_zero() || f.terms.empty() || f.terms.back().first != Monomial{id} ||
        f.terms.size() != (f.constant().is_zero() ? 1 : 2))
      continue;
    const auto values = symbolic::solved(f.terms.back().second, f.constant(), modulus);
    const auto less = values ? meet(r, *values) : std::nullopt;
    contradictory_ |= !less;
    if (less) r = *less;
  }
  return r;
}

Congruence Entailment::congruence(PolyId p, int depth) {
  Congruence r = Congruence::point(0);
  const Poly poly = (*ring_)[p];
  for (const auto& [m, c] : poly.terms) {
    if (r.is_trivial()) break;
    Congruence product = Congruence::point(1);
    for (const AtomId a : m)
      if (!product.is_trivial()) product = product * atom_congruence(a, depth);
    r = r + product * c;
  }
  if (depth == 0 || poly.is_constant()) return r;
  for (std::size_t i = 0; i < residues_.size(); ++i) {
    const auto [fact, modulus] = residues_[i];
    const Poly f = (*ring_)[fact];
    if (budget_) --budget_->bounds;
    if (spent()) break;
    for (const auto& [m, c] : f.terms) {
      const auto own = std::ranges::find(poly.terms, m, &std::pair<Monomial, Int>::first);
      if (m.empty() || own == poly.terms.end() || !divides(c, own->second)) continue;
      const Int factor = floor_div(own->second, c);  // p = factor * fact + rest
      const Congruence rest = congruence(ring_->add(p, fact, -factor), depth - 1);
      const auto less = meet(r, rest + Congruence::of(modulus * factor, 0));
      contradictory_ |= !less;
      if (less) r = *less;
    }
  }
  return r;
}

Interval Entailment::trimmed(const Interval& range, PolyId p, int depth) {
  const Congruence c = congruence(p, std::max(depth, 2));
  if (c.is_trivial()) return range;
  const auto less = symbolic::trimmed(range, c);
  contradictory_ |= !less;
  return less.value_or(range);
}

bool Entailment::divides_surely(PolyId divisor) {
  if (nonzero_.contains(divisor)) return true;
  const Interval d = plain(divisor);
  return d.at_least(1) || d.at_most(-1);
}

Interval Entailment::atom_bounds(AtomId id) {
  // Congruences may be cyclic: the initial value is unbounded.
  const auto [memo, fresh] = memo_.emplace(id, Interval{});
  if (!fresh) return memo->second;
  const Atom& a = ring_->atom(id);
  // In sequence, here and below: the memo of atoms depends on the order.
  const auto part = [&](std::size_t i) {
    const Interval first = plain(a.parts[i]);
    return both(first, relaxed(a.parts[i], 0));
  };
  Interval r;
  switch (a.kind) {
    case AtomKind::Variable: break;
    case AtomKind::Quotient:
      if (!divides_surely(a.parts[1])) break;
      r = part(0);
      r = floor_div(r, part(1));
      break;
    case AtomKind::Remainder: {
      if (!divides_surely(a.parts[1])) break;
      const Interval d = part(1);
      r = d.is_point() && d.lo->sign() > 0 ? floor_mod(part(0), *d.lo) : floor_mod(part(0), d);
      if (const Congruence c = atom_congruence(id, kLimits.entailed_depth); !c.is_trivial())
        r = symbolic::trimmed(r, c).value_or(r);
      break;
    }
    case AtomKind::Negative:
    case AtomKind::Zero: {
      const Interval p = part(0);
      r = {Int(0), Int(1)};
      const bool negative = a.kind == AtomKind::Negative;
      if (negative ? p.at_most(-1) : p.within(0, 0)) r.lo = Int(1);
      if (negative ? p.at_least(0) : p.at_least(1) || p.at_most(-1)) r.hi = Int(0);
      if (!negative && nonzero_.contains(a.parts[0])) r.hi = Int(0);
      if (const auto known = flags_.find(id); known != flags_.end())
        r = Interval::point(known->second ? 1 : 0);
      break;
    }
    case AtomKind::Max:
      r = Interval::point(0);
      for (std::size_t i = 0; i < a.parts.size(); ++i) r = larger(r, part(i));
      break;
    case AtomKind::Product:
      r = Interval::point(1);
      for (std::size_t i = 0; i < a.parts.size(); ++i) r = r * part(i);
      break;
  }
  if (const auto found = known_.find(id); found != known_.end()) {
    if (found->second.lo && (!r.lo || *r.lo < *found->second.lo)) r.lo = found->second.lo;
    if (found->second.hi && (!r.hi || *found->second.hi < *r.hi)) r.hi = found->second.hi;
    if (empty(r)) {
      contradictory_ = true;
      r = found->second;
    }
  }
  memo_[id] = r;
  return r;
}

Interval Entailment::plain(PolyId p) {
  Interval sum = Interval::point(0);
  for (const auto& [m, c] : (*ring_)[p].terms) {
    Interval product = Interval::point(1);
    for (std::size_t i = 0; i < m.size();) {
      std::size_t j = i;
      Interval power = Interval::point(1);
      for (; j < m.size() && m[j] == m[i]; ++j) power = power * atom_bounds(m[i]);
      if ((j - i) % 2 == 0) power = meet(power, Interval{Int(0), std::nullopt});
      product = product * power;
      i = j;
    }
    sum = sum + product * c;
  }
  return sum;
}

Interval Entailment::relaxed(PolyId p, int depth) {
  // x//d is x/d minus at most (d-1)/d: clearing denominators lets x cancel with its other uses.
  const auto divisor = [&](const Monomial& m) -> Int {
    if (m.size() != 1 || ring_->atom(m[0]).kind != AtomKind::Quotient) return 0;
    const Poly& d = (*ring_)[ring_->atom(m[0]).parts[1]];
    return d.is_constant() && d.constant().sign() > 0 ? d.constant() : Int(0);
  };
  const Poly poly = (*ring_)[p];
  if (poly.terms.size() < 2) return {};
  std::set<AtomId> inner;  // quotients inside other quotients of the sum
  for (const auto& [m, c] : poly.terms)
    if (!divisor(m).is_zero())
      for (const auto& [n, k] : (*ring_)[ring_->atom(m[0]).parts[0]].terms)
        if (!divisor(n).is_zero()) inner.insert(n[0]);
  Interval r;
  for (const bool all : {true, false}) {  // with and without clearing inner quotients
    if (!all && inner.empty()) break;
    const auto taken = [&](const Monomial& m) {
      return all || m.size() != 1 || !inner.contains(m[0]) ? divisor(m) : Int(0);
    };
    Int scale = 1;
    for (const auto& [m, c] : poly.terms)
      if (const Int d = taken(m); !d.is_zero()) scale = scale * floor_div(d, gcd(scale, d));
    if (scale.is_one()) continue;
    PolyId straight = ring_->constant(0);
    Interval slack = Interval::point(0);
    for (const auto& [m, c] : poly.terms) {
      const Int d = taken(m);
      if (d.is_zero()) {
        straight = ring_->add(straight, ring_->monomial(m, c), scale);
        continue;
      }
      const Int part = c * floor_div(scale, d);
      straight = ring_->add(straight, ring_->atom(m[0]).parts[0], part);
      slack = slack + Interval{Int(0), d - 1} * -part;
    }
    Interval range = (depth > 0 ? bounds(straight, depth - 1) : plain(straight)) + slack;
    if (range.lo) range.lo = -floor_div(-*range.lo, scale);
    if (range.hi) range.hi = floor_div(*range.hi, scale);
    r = both(r, range);
  }
  return r;
}

Interval Entailment::with_facts(PolyId p, int depth) {
  Interval r;
  const Poly poly = (*ring_)[p];
  const auto use = [&](PolyId fact) {
    const Poly f = (*ring_)[fact];
    for (const auto& [m, c] : f.terms) {
      if (m.empty()) continue;
      const auto own = std::ranges::find(poly.terms, m, &std::pair<Monomial, Int>::first);
      if (own == poly.terms.end() || !divides(c, own->second)) continue;
      const Int factor = floor_div(own->second, c);  // p = factor * fact + rest
      Interval rest = bounds(ring_->add(p, fact, -factor), depth - 1);
      (factor.sign() > 0 ? rest.lo : rest.hi).reset();
      r = both(r, rest);
    }
  };
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    const Poly f = (*ring_)[facts_[i]];
    if (f.terms.size() > 2 || (f.terms.size() == 2 && !f.terms[0].first.empty()))
      use(facts_[i]);  // a fact of one term is already in its bounds
    for (const AtomId v : factors_beside(poly, f))
      use(ring_->multiply(facts_[i], ring_->of_atom(v)));
  }
  for (const auto& [m, c] : poly.terms)  // x*x is at least x, -x, and x times its least value
    if (m.size() == 2 && m[0] == m[1]) {
      const Interval range = atom_bounds(m[0]);
      const PolyId square = ring_->monomial(m, -1);
      const Int least = range.at_least(2) ? *range.lo : Int(1);
      const Int most = range.at_most(-2) ? *range.hi : Int(-1);
      for (const Int& factor : {least, most}) use(ring_->add(square, ring_->of_atom(m[0]), factor));
    }
  for (const auto& [m, c] : poly.terms) {  // x % y is below a positive y
    if (m.size() != 1 || ring_->atom(m[0]).kind != AtomKind::Remainder) continue;
    const PolyId divisor = ring_->atom(m[0]).parts[1];
    if ((*ring_)[divisor].is_constant() || !plain(divisor).at_least(1)) continue;
    const PolyId below = ring_->add(ring_->of_atom(m[0]), divisor, -1);
    use(ring_->add(below, ring_->constant(1)));
  }
  return r;
}

bool Entailment::impossible(std::optional<PolyId> p) {
  if (!settled_) tighten();
  std::vector<PolyId> all = facts_;
  if (p) all.push_back(*p);
  const auto equal = [&](PolyId x, PolyId y) {
    all.push_back(ring_->add(x, y, -1));
    all.push_back(ring_->add(y, x, -1));
  };
  std::set<AtomId> seen;
  for (std::size_t i = 0; i < all.size() && all.size() <= kLimits.inequalities; ++i)
    for (const AtomId a : atoms_of(*ring_, {all[i]})) {
      if (!seen.insert(a).second) continue;
      const Atom& n = ring_->atom(a);
      const PolyId value = ring_->of_atom(a);
      if (n.kind == AtomKind::Max)
        for (const PolyId part : n.parts) all.push_back(ring_->add(part, value, -1));
      if (n.kind != AtomKind::Quotient && n.kind != AtomKind::Remainder) continue;
      const PolyId of = n.parts[0], by = n.parts[1];
      if (!(*ring_)[by].is_constant() || (*ring_)[by].constant().sign() <= 0) continue;
      const Int d = (*ring_)[by].constant();
      const PolyId whole = quotient(of, by);
      const PolyId rest = ring_->add(of, whole, -d);
      if (n.kind == AtomKind::Remainder) {
        equal(value, rest);
      } else if (whole != value) {
        equal(value, whole);
      } else {
        all.push_back(ring_->add(ring_->constant(0), rest, -1));
        all.push_back(ring_->add(rest, ring_->constant(d - 1), -1));
      }
    }
  if (all.size() > kLimits.inequalities) return false;
  // The distances of two atoms from their bounds are nonnegative, and so is their product.
  const auto distances = [&](AtomId a) {
    const Interval range = atom_bounds(a);
    std::vector<PolyId> found;
    if (range.lo) found.push_back(ring_->add(ring_->of_atom(a), ring_->constant(-*range.lo)));
    if (range.hi) found.push_back(ring_->add(ring_->constant(*range.hi), ring_->of_atom(a), -1));
    return found;
  };
  std::set<Monomial> products;
  for (const PolyId q : all)
    for (const auto& [m, c] : (*ring_)[q].terms)
      if (m.size() == 2) products.insert(m);
  for (const Monomial& m : products)
    for (const PolyId x : distances(m[0]))
      for (const PolyId y : distances(m[1]))
        if (all.size() < kLimits.inequalities)
          all.push_back(ring_->add(ring_->constant(0), ring_->multiply(x, y), -1));
  std::map<Monomial, std::size_t> numbers;
  std::vector<Interval> unknowns;
  for (const PolyId q : all) {
    const Poly poly = (*ring_)[q];
    for (const auto& [m, c] : poly.terms)
      if (!m.empty() && numbers.emplace(m, unknowns.size()).second)
        unknowns.push_back(plain(ring_->monomial(m, 1)));
  }
  if (unknowns.size() > kLimits.inequalities) return false;
  const std::size_t size = all.size() * unknowns.size();
  Inequalities system(std::move(unknowns));
  for (const PolyId q : all) {
    Inequalities::Sum sum;
    for (const auto& [m, c] : (*ring_)[q].terms)
      if (!m.empty()) sum.emplace_back(numbers.at(m), c);
    system.at_most(sum, -(*ring_)[q].constant());
  }
  int left = kLimits.pivots;
  const bool contradict = system.contradict(left);
  if (budget_)
    budget_->bounds -=
        static_cast<int>(size * static_cast<std::size_t>(kLimits.pivots - left) / 64);
  return contradict;
}

std::vector<AtomId> Entailment::factors_beside(const Poly& poly, const Poly& fact) {
  // A fact may be multiplied by a nonnegative factor: u*v meets a fact about u.
  std::vector<AtomId> found;
  for (const auto& [m, c] : poly.terms) {
    if (m.size() != 2) continue;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const Monomial other{m[1 - i]};
      if (std::ranges::find(fact.terms, other, &std::pair<Monomial, Int>::first) !=
              fact.terms.end() &&
          std::ranges::find(found, m[i]) == found.end() && atom_bounds(m[i]).at_least(0))
        found.push_back(m[i]);
    }
  }
  return found;
}

std::optional<Interval> Entailment::by_flag(PolyId p, AtomId flag, int depth) {
  std::optional<Interval> r;
  for (const bool value : {false, true}) {
    Entailment then = *this;
    then.settled_ = false;
    then.assume_flag(flag, value);
    then.tighten();
    const PolyId q = ring_->replace(p, flag, ring_->constant(value ? 1 : 0));
    const Interval range = then.bounds(q, depth - 1);
    if (then.contradictory_) continue;
    r = r ? hull(*r, range) : range;
  }
  return r;
}

Interval Entailment::by_maximum(PolyId p, AtomId maximum, int depth) {
  const Poly& poly = (*ring_)[p];
  Int coef;
  bool linear = true;
  for (const auto& [m, c] : poly.terms) {
    if (std::ranges::find(m, maximum) == m.end()) continue;
    linear &= m.size() == 1;
    coef = c;
  }
  std::vector<PolyId> values{ring_->constant(0)};
  const Atom& a = ring_->atom(maximum);
  values.insert(values.end(), a.parts.begin(), a.parts.end());
  std::optional<Interval> r;
  for (const PolyId v : values) {
    const Interval range = bounds(ring_->replace(p, maximum, v), depth - 1);
    if (!r)
      r = range;
    else if (!linear)
      r = hull(*r, range);
    else if (coef.sign() > 0)
      r = larger(*r, range);
    else
      r = larger(*r * Int(-1), range * Int(-1)) * Int(-1);
  }
  return *r;
}

Interval Entailment::bounds(PolyId p, int depth) {
  Interrupt::poll();
  if (!settled_) tighten();
  Interval r = plain(p);
  if (budget_) --budget_->bounds;
  if (spent()) return r;
  r = trimmed(both(r, relaxed(p, depth)), p, depth);
  const Poly poly = (*ring_)[p];
  if (depth == 0 || poly.is_constant() || poly.terms.size() > kLimits.entailed_terms) return r;
  r = trimmed(both(r, with_facts(p, depth)), p, depth);
  if (const Monomial common = common_factor(p); !common.empty() && poly.terms.size() > 1)
    r = both(r, bounds(without(p, common), depth - 1) * plain(ring_->monomial(common, 1)));
  for (const auto& [m, c] : poly.terms)
    for (const AtomId a : m) {
      if (ring_->atom(a).kind == AtomKind::Max && poly.terms.size() > 1) {
        r = trimmed(both(r, by_maximum(p, a, depth)), p, depth);
      } else if (ring_->is_flag(a) && !flags_.contains(a)) {
        if (const auto range = by_flag(p, a, depth)) return both(r, *range);
        contradictory_ = true;
        return r;
      }
    }
  return r;
}

}  // namespace touchstone::symbolic
