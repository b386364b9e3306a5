#include "touchstone/symbolic/check/entailment.h"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

void Entailment::assume(Expr condition) {
  settled_ = false;
  const PolyId truth = ring_->truth(condition);
  const Poly& t = (*ring_)[truth];
  if (t.is_constant()) {
    contradictory_ |= t.constant().is_zero();
  } else if (t.terms.size() == 1 && t.terms[0].second.is_one()) {
    for (const AtomId a : t.terms[0].first)
      if (ring_->is_flag(a)) assume_flag(a, true);
  } else if (t.terms.size() == 2 && t.terms[0].first.empty() && t.terms[0].second.is_one() &&
             t.terms[1].second == Int(-1) && t.terms[1].first.size() == 1) {
    assume_flag(t.terms[1].first[0], false);
  }
}

void Entailment::assume_flag(AtomId flag, bool value) {
  const auto [at, fresh] = flags_.emplace(flag, value);
  contradictory_ |= at->second != value;
  const Atom& a = ring_->atom(flag);
  const PolyId p = a.parts[0], minus = ring_->add(ring_->constant(0), p, -1);
  if (a.kind == AtomKind::Negative) {
    at_most_zero(value ? ring_->add(p, ring_->constant(1)) : minus);
  } else if (value) {
    assume_zero(p);
  } else {
    assume_nonzero(p);
  }
}

void Entailment::assume_zero(PolyId p) {
  at_most_zero(p);
  at_most_zero(ring_->add(ring_->constant(0), p, -1));
  residues_.emplace_back(p, 0);
  assume_roots(p);
}

void Entailment::assume_roots(PolyId p) {
  const Poly& f = (*ring_)[p];
  Int a = 0, b = 0;
  std::optional<AtomId> x;
  for (const auto& [m, c] : f.terms) {
    if (m.empty()) continue;
    if (m.size() > 2 || m.front() != m.back() || (x && *x != m[0])) return;
    x = m[0];
    (m.size() == 2 ? a : b) = c;
  }
  const Int square = b * b - a * f.constant() * 4;
  if (a.is_zero() || !square.small()) return;
  Int low = 0, high = square + 1;  // integer square root by bisection
  while (high - low > Int(1)) {
    const Int middle = floor_div(low + high, 2);
    (middle * middle <= square ? low : high) = middle;
  }
  Interval roots;
  for (const Int& root : {low, -low})
    if (low * low == square && divides(a * 2, root - b)) {
      const Int value = floor_div(root - b, a * 2);
      if (!roots.lo || value < *roots.lo) roots.lo = value;
      if (!roots.hi || *roots.hi < value) roots.hi = value;
    }
  contradictory_ |= !roots.lo;
  if (roots.lo) narrow(*x, roots);
}

void Entailment::at_most_zero(PolyId p) {
  if (std::ranges::find(facts_, p) != facts_.end()) return;
  facts_.push_back(p);
  settled_ = false;
  // x//c <= k is x <= c*k + c - 1, and x//c >= k is x >= c*k.
  const Poly& f = (*ring_)[p];
  if (f.terms.empty() || f.terms.back().first.size() != 1 || f.terms.size() > 2 ||
      (f.terms.size() == 2 && !f.terms[0].first.empty()))
    return;
  const Atom& a = ring_->atom(f.terms.back().first[0]);
  if (a.kind != AtomKind::Quotient || !(*ring_)[a.parts[1]].is_constant()) return;
  const Int c = (*ring_)[a.parts[1]].constant(), coef = f.terms.back().second;
  if (c.sign() <= 0) return;
  if (coef.sign() > 0) {
    const Int k = floor_div(-f.constant(), coef);
    at_most_zero(ring_->add(a.parts[0], ring_->constant(c * k + c - 1), -1));
  } else {
    const Int k = -floor_div(-f.constant(), -coef);
    at_most_zero(ring_->add(ring_->constant(c * k), a.parts[0], -1));
  }
}

void Entailment::assume_nonzero(PolyId p) {
  settled_ = false;
  nonzero_.insert(p);
  nonzero_.insert(ring_->add(ring_->constant(0), p, -1));
  const Poly& q = (*ring_)[p];
  if (q.terms.size() == 1)
    for (const AtomId a : q.terms[0].first) nonzero_.insert(ring_->of_atom(a));
}

bool Entailment::contradictory() {
  return within({.bounds = kLimits.entailed_bounds}, [&] { return facts_contradict(); });
}

bool Entailment::facts_contradict() {
  if (!settled_) tighten();
  contradictory_ = contradictory_ || impossible();
  // Sums of facts help only with products and residues.
  const auto is_linear = [&](PolyId p) {
    return std::ranges::all_of((*ring_)[p].terms,
                               [](const auto& t) { return t.first.size() <= 1; });
  };
  const bool linear =
      residues_.empty() && nonzero_.empty() && std::ranges::all_of(facts_, is_linear);
  const int depth = linear ? 0 : kLimits.entailed_depth - 1;
  for (std::size_t i = 0; i < facts_.size() && !contradictory_; ++i)
    contradictory_ |= bounds(facts_[i], depth).at_least(1);
  for (auto p = nonzero_.begin(); p != nonzero_.end() && !contradictory_; ++p)
    contradictory_ |= bounds(*p, depth).within(0, 0);
  return contradictory_;
}

bool Entailment::nonzero(PolyId p) {
  if (nonzero_.contains(p)) return true;
  const Poly& q = (*ring_)[p];
  if (q.terms.size() == 1 && std::ranges::all_of(q.terms[0].first, [&](AtomId a) {
        return nonzero_.contains(ring_->of_atom(a)) ||
               (ring_->of_atom(a) != p && nonzero(ring_->of_atom(a)));
      }))
    return true;
  return within({.bounds = kLimits.entailed_bounds}, [&] {
    const Interval r = bounds(p);
    return r.at_least(1) || r.at_most(-1);
  });
}

std::optional<AtomId> Entailment::innermost_case(PolyId p) const {
  std::vector<PolyId> todo{p};
  std::set<PolyId> seen{p};
  std::optional<AtomId> found;  // the innermost: parts have smaller ids than their atom
  while (!todo.empty()) {
    const Poly& q = (*ring_)[todo.back()];
    todo.pop_back();
    for (const auto& [m, c] : q.terms)
      for (const AtomId a : m) {
        const Atom& n = ring_->atom(a);
        const bool tells = n.kind == AtomKind::Max || ring_->is_flag(a);
        if (tells && (!found || a < *found)) found = a;
        for (const PolyId part : n.parts)
          if (seen.insert(part).second) todo.push_back(part);
      }
  }
  return found;
}

bool Entailment::zero_by_cases(PolyId p) {
  if (spent() || fails_at_a_point(p)) return false;
  const auto by_cases = [&](PolyId q) { return within({}, [&] { return zero_in_each_case(q); }); };
  if (by_cases(p)) return true;
  PolyId other = p;
  const auto is_linear = [](const auto& term) { return term.first.size() <= 1; };
  for (std::size_t i = 0; i < residues_.size(); ++i)
    if (residues_[i].second.is_zero() &&
        std::ranges::all_of((*ring_)[residues_[i].first].terms, is_linear))
      other = solved(other, residues_[i].first);
  other = divided(other);  // before the case split, so that its parts can cancel
  if (other != p && by_cases(other)) return true;
  return within({}, [&] { return zero_by_values(p, Values::OfVariables); }) ||
         within({}, [&] { return zero_by_residues(p, 2); });
}

bool Entailment::zero_in_each_case(PolyId p) {
  if ((*ring_)[p].terms.empty()) return true;
  if (--budget_->cases < 0 || spent()) return false;
  for (const auto& [guard, divisor] : guarded_)
    if (!nonzero_.contains(divisor) && flags_hold(guard)) assume_nonzero(divisor);
  const auto place = innermost_case(p);
  if (!place) {
    const PolyId one = ring_->constant(1);
    if (contradictory() || bounds(p, 1).within(0, 0)) return true;
    if (impossible(ring_->add(p, one)) && impossible(ring_->add(one, p, -1))) return true;
    if (bounds(p).within(0, 0)) return true;
    const PolyId other = divided(without(p, common_factor(p)));
    return (other != p && zero_in_each_case(other)) || zero_by_values(p, Values::OfFactors);
  }
  const Atom atom = ring_->atom(*place);
  if (ring_->is_flag(*place)) {
    for (const bool value : {false, true}) {
      Entailment then = *this;
      then.assume_flag(*place, value);
      if (then.contradictory()) continue;
      PolyId q = ring_->substitute(p, *place, ring_->constant(value ? 1 : 0));
      if (value && atom.kind == AtomKind::Zero) q = solved(q, atom.parts[0]);
      if (!then.zero_in_each_case(q)) return false;
    }
    return true;
  }
  std::vector<PolyId> members = atom.parts;
  members.push_back(ring_->constant(0));
  for (const PolyId largest : members) {
    Entailment then = *this;
    for (const PolyId other : members)
      if (other != largest) then.at_most_zero(ring_->add(other, largest, -1));
    if (then.contradictory()) continue;
    if (!then.zero_in_each_case(ring_->substitute(p, *place, largest))) return false;
  }
  return true;
}

Monomial Entailment::common_factor(PolyId p) const {
  const Poly& poly = (*ring_)[p];
  Monomial common = poly.terms.empty() ? Monomial{} : poly.terms[0].first;
  for (const auto& [m, c] : poly.terms) {
    Monomial shared;
    std::ranges::set_intersection(common, m, std::back_inserter(shared));
    common = std::move(shared);
  }
  return common;
}

PolyId Entailment::without(PolyId p, const Monomial& factor) {
  if (factor.empty()) return p;
  PolyId q = ring_->constant(0);
  const Poly poly = (*ring_)[p];
  for (const auto& [m, c] : poly.terms) {
    Monomial rest;
    std::ranges::set_difference(m, factor, std::back_inserter(rest));
    q = ring_->add(q, ring_->monomial(rest, c));
  }
  return q;
}

PolyId Entailment::divided(PolyId p) {
  constexpr std::size_t kMorePowers = 8;
  const auto degree = [&](PolyId q) {
    std::size_t most = 0;
    for (const auto& [m, c] : (*ring_)[q].terms) most = std::max(most, m.size());
    return most;
  };
  for (const AtomId a : atoms_of(*ring_, {p}))
    if (const Interval range = atom_bounds(a);
        ring_->atom(a).kind == AtomKind::Variable && range.is_point())
      p = ring_->substitute(p, a, ring_->constant(*range.lo));
  const PolyId start = p;
  const std::size_t most = (*ring_)[p].terms.size() + 2 * kLimits.entailed_terms;
  for (int round = 0; round < kLimits.division_rounds; ++round) {
    const PolyId before = p;
    if (spent()) return start;
    // Remainders last: their bounds are tighter than those of their definition.
    for (const AtomKind kind : {AtomKind::Quotient, AtomKind::Remainder})
      for (const AtomId a : atoms_of(*ring_, {p})) {  // innermost first
        const Atom& n = ring_->atom(a);
        if (n.kind != kind || p != before) continue;
        const PolyId of = n.parts[0], by = n.parts[1];
        const PolyId whole =
            kind == AtomKind::Quotient ? quotient(of, by) : ring_->quotient(of, by, false);
        const PolyId other =
            kind == AtomKind::Quotient ? whole : ring_->add(of, ring_->multiply(by, whole), -1);
        if (other != ring_->of_atom(a)) p = ring_->substitute(p, a, other);
      }
    if (p == before) break;
    // Stop a long division whose quotient keeps gaining powers.
    if ((*ring_)[p].terms.size() > most || degree(p) > degree(start) + kMorePowers) return start;
  }
  return p;
}

PolyId Entailment::quotient(PolyId of, PolyId by) {
  const PolyId plain = ring_->quotient(of, by, false), zero = ring_->constant(0);
  const Poly n = (*ring_)[of], d = (*ring_)[by];
  const auto with_multiple = [&](PolyId k) {  // (n - k*d)//d + k
    const PolyId rest = ring_->add(of, ring_->multiply(k, by), -1);
    return ring_->add(ring_->quotient(rest, by, false), k);
  };
  if (d.is_constant()) {
    const Int c = d.constant();
    if (c.is_zero()) return plain;
    if (c.sign() < 0) return ring_->quotient(ring_->add(zero, of, -1), ring_->constant(-c), false);
    const Interval range = floor_div(bounds(of, kLimits.entailed_depth - 1), c);
    if (range.is_point()) return ring_->constant(*range.lo);
    const Congruence known = congruence(of, kLimits.entailed_depth);
    const Int step = gcd(known.modulus, c),
              over = step.is_zero() ? Int(0) : floor_mod(known.residue, step);
    if (!over.is_zero())  // adding `over` cannot cross a multiple of c
      return ring_->quotient(ring_->add(of, ring_->constant(-over)), by, false);
    PolyId k = zero;
    Int common = c;
    for (const auto& [m, coef] : n.terms) {
      k = ring_->add(k, ring_->monomial(m, floor_div(coef, c)));
      if (!m.empty()) common = gcd(common, coef);
    }
    if (k != zero) return with_multiple(k);
    if (!common.is_one()) {
      PolyId less = zero;
      for (const auto& [m, coef] : n.terms)
        less = ring_->add(less, ring_->monomial(m, floor_div(coef, common)));
      return ring_->quotient(less, ring_->constant(floor_div(c, common)), false);
    }
    // n//c is x - (c*x + c - 1 - n)//c: use the dividend with the smaller coefficients.
    PolyId x = zero;
    for (const auto& [m, coef] : n.terms)
      if (!m.empty()) x = ring_->add(x, ring_->monomial(m, 1));
    const PolyId other = ring_->add(ring_->add(ring_->constant(c - 1), of, -1), x, c);
    if (std::ranges::lexicographical_compare(std::views::reverse((*ring_)[other].terms),
                                             std::views::reverse(n.terms)))
      return ring_->add(x, quotient(other, by), -1);
    // (x//a + y)//c is (x + a*y)//(a*c), and -(x//a) is (a - 1 - x)//a.
    for (const auto& [m, coef] : n.terms) {
      if (m.size() != 1 || !(coef.is_one() || coef == c - 1)) continue;
      const Atom& inner = ring_->atom(m[0]);
      if (inner.kind != AtomKind::Quotient || !(*ring_)[inner.parts[1]].is_constant()) continue;
      const Int a = (*ring_)[inner.parts[1]].constant(), sign = coef.is_one() ? 1 : -1;
      if (a.sign() <= 0) continue;
      const PolyId y = ring_->add(of, ring_->monomial(m, coef), -1);
      const PolyId x =
          ring_->add(ring_->constant(coef.is_one() ? Int(0) : a - 1), inner.parts[0], sign);
      const PolyId whole = ring_->quotient(ring_->add(x, y, a), ring_->constant(a * c), false);
      return coef.is_one() ? whole : ring_->add(whole, ring_->monomial(m, 1));
    }
    return plain;
  }
  const auto& [lead, factor] = d.terms.back();
  if (factor.sign() < 0)
    return ring_->quotient(ring_->add(zero, of, -1), ring_->add(zero, by, -1), false);
  for (const auto& [m, coef] : n.terms)
    if (divides(factor, coef) && std::ranges::includes(m, lead)) {
      Monomial rest;
      std::ranges::set_difference(m, lead, std::back_inserter(rest));
      return with_multiple(ring_->monomial(rest, floor_div(coef, factor)));
    }
  const Interval range = bounds(of, kLimits.entailed_depth - 1);
  const auto below = [&](PolyId p) {
    return bounds(ring_->add(by, p, -1), kLimits.entailed_depth - 1).at_least(1);
  };
  if (range.at_least(0) && below(of)) return zero;
  if (range.at_most(-1) && below(ring_->add(ring_->constant(-1), of, -1)))
    return ring_->constant(-1);
  return plain;
}

bool Entailment::zero_by_values(PolyId p, Values of) {
  std::set<AtomId> atoms;
  if (of == Values::OfVariables) {
    atoms = atoms_of(*ring_, {p});
    std::erase_if(atoms, [&](AtomId a) { return ring_->atom(a).kind != AtomKind::Variable; });
  } else {
    for (const auto& [m, c] : (*ring_)[p].terms) atoms.insert(m.begin(), m.end());
  }
  std::optional<AtomId> few;  // the atom with the fewest values
  Int least = kLimits.case_values;
  for (const AtomId a : atoms) {
    const Interval range = atom_bounds(a);
    if (!range.lo || !range.hi || *range.hi - *range.lo >= least) continue;
    least = *range.hi - *range.lo;
    few = a;
  }
  if (!few) return false;
  const Interval range = atom_bounds(*few);
  for (Int value = *range.lo; value <= *range.hi; value += 1) {
    const PolyId k = ring_->constant(value);
    Entailment then = *this;
    then.at_most_zero(ring_->add(ring_->of_atom(*few), k, -1));
    then.at_most_zero(ring_->add(k, ring_->of_atom(*few), -1));
    if (then.contradictory()) continue;
    if (!then.zero_in_each_case(ring_->substitute(p, *few, k))) return false;
  }
  return true;
}

// Splits a divided variable into m*u + r for each residue r, where m is a multiple of its divisors.
bool Entailment::zero_by_residues(PolyId p, int variables) {
  std::map<AtomId, Int> periods;
  for (const AtomId a : atoms_of(*ring_, {p})) {
    const Atom& n = ring_->atom(a);
    if (n.kind != AtomKind::Quotient && n.kind != AtomKind::Remainder) continue;
    if (!(*ring_)[n.parts[1]].is_constant()) continue;
    const Int d = abs((*ring_)[n.parts[1]].constant());
    if (d.is_zero()) continue;
    for (const AtomId v : atoms_of(*ring_, {n.parts[0]})) {
      if (ring_->atom(v).kind != AtomKind::Variable) continue;
      Int& period = periods.emplace(v, 1).first->second;
      period = period * floor_div(d, gcd(period, d));
    }
  }
  std::erase_if(periods, [](const auto& of) { return of.second > Int(kLimits.case_residues); });
  if (periods.empty() || variables == 0) return false;
  const auto [v, period] = *std::ranges::min_element(
      periods, {}, [](const auto& of) { return std::pair(of.second, of.first); });
  const PolyId above = ring_->variable(fmt::format("{}//{}", ring_->atom(v).name, period.str()));
  for (Int rest = 0; rest < period; rest += 1) {
    const PolyId value = ring_->add(ring_->constant(rest), above, period);
    Entailment then = *this;
    then.assume_zero(ring_->add(ring_->of_atom(v), value, -1));
    if (then.contradictory()) continue;
    const PolyId q = ring_->substitute(p, v, value);
    if (!then.zero_in_each_case(q) && !then.zero_by_residues(q, variables - 1)) return false;
  }
  return true;
}

PolyId Entailment::solved(PolyId p, PolyId zero) {
  const Poly q = (*ring_)[zero];
  for (const auto& [m, c] : q.terms) {
    if (m.size() != 1 || !abs(c).is_one() || ring_->atom(m[0]).kind != AtomKind::Variable) continue;
    const PolyId rest = ring_->add(ring_->monomial(m, c), zero, -1);  // c * variable == rest
    return ring_->substitute(p, m[0], ring_->multiply(rest, ring_->constant(c)));
  }
  return p;
}

bool Entailment::flag_is(AtomId flag, bool value) {
  if (const auto known = flags_.find(flag); known != flags_.end()) return known->second == value;
  const Atom& a = ring_->atom(flag);
  const PolyId p = a.parts[0];
  if (a.kind == AtomKind::Zero && !value) return nonzero(p);
  const Interval r = bounds(p);
  if (a.kind == AtomKind::Zero) return r.within(0, 0);
  return value ? r.at_most(-1) : r.at_least(0);
}

bool Entailment::flags_hold(PolyId truth) {
  const Poly t = (*ring_)[truth];
  if (t.is_constant()) return !t.constant().is_zero();
  if (t.terms.size() == 1 && t.terms[0].second.is_one() &&
      std::ranges::all_of(t.terms[0].first, [&](AtomId a) { return flag_is(a, true); }))
    return true;
  if (t.terms.size() == 2 && t.terms[0].first.empty() && t.terms[0].second.is_one() &&
      t.terms[1].second == Int(-1) &&
      std::ranges::any_of(t.terms[1].first, [&](AtomId a) { return flag_is(a, false); }))
    return true;
  return bounds(truth).at_least(1);
}

bool Entailment::holds(Expr condition) {
  std::vector<Expr> parts{condition};  // of nested `and`
  while (!parts.empty()) {
    const Expr e = parts.back();
    parts.pop_back();
    if (exprs_->op(e) == ExprOp::And)
      parts.insert(parts.end(), exprs_->args(e).begin(), exprs_->args(e).end());
    else if (!within({.bounds = kLimits.entailed_bounds},
                     [&] { return flags_hold(ring_->truth(e)); }))
      return contradictory();
  }
  return true;
}

}  // namespace touchstone::symbolic
