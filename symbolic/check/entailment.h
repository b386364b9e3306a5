#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "touchstone/symbolic/check/ring.h"
#include "touchstone/symbolic/number/congruence.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

/// Derives consequences of facts by intervals, congruences, sums of facts, and case splits on flags
/// and maxima. The facts are its only knowledge of the variables.
class Entailment {
 public:
  Entailment(const Exprs& exprs, Ring& ring) : exprs_(&exprs), ring_(&ring) {}

  /// Remaining work for a question; once spent, the answer is false.
  struct Budget {
    int cases = kLimits.cases;
    int bounds = kLimits.case_bounds;
    std::int64_t terms = 500'000;  // of polynomials: long division makes long ones
  };
  /// Charges all questions to this object and its copies to one budget, which must outlive them.
  /// Null, the default, gives each question its own. `terms` counts the terms that the ring has
  /// created.
  void spend_from(Budget* budget) { budget_ = budget; }

  /// Adds a fact. Ignores the parts of the condition that it does not understand.
  void assume(Expr condition);
  /// Adds the fact p != 0, or p = 0.
  void assume_nonzero(PolyId p);
  void assume_zero(PolyId p);
  /// Adds the fact that p is not 0 where the guard is 1; used in the case splits.
  void assume_nonzero_where(PolyId guard, PolyId p) { guarded_.emplace_back(guard, p); }
  /// True if the facts imply the condition; false means unknown.
  bool holds(Expr condition);
  bool nonzero(PolyId p);
  /// True if p is 0 in every case: over the largest member of each maximum, the flags, the values
  /// of atoms with few values, and the residues of variables by their divisors, with variables
  /// eliminated by the linear equations among the facts.
  bool zero_by_cases(PolyId p);
  /// An interval that contains every value of p. Arbitrary if the facts are contradictory.
  Interval bounds(PolyId p) { return bounds(p, kLimits.entailed_depth); }
  bool contradictory();

 private:
  bool spent() const { return budget_ && (budget_->bounds < 0 || ring_->terms() > budget_->terms); }
  bool facts_contradict();
  void assume_flag(AtomId flag, bool value);
  void at_most_zero(PolyId p);
  /// Restricts an atom to the roots of p, which is quadratic in it.
  void assume_roots(PolyId p);
  void tighten();
  /// True if a sampled point satisfies the facts and p is not 0 there; false means unknown.
  bool fails_at_a_point(PolyId p);
  bool satisfied(const std::function<std::optional<Int>(PolyId)>& at) const;
  bool flags_hold(PolyId truth);
  /// Runs `shown` with this budget unless another is set.
  template <class Shown>
  bool within(Budget budget, const Shown& shown) {
    if (budget_) return shown();
    budget.terms += ring_->terms();
    budget_ = &budget;
    const bool answer = shown();
    budget_ = nullptr;
    return answer;
  }
  bool zero_in_each_case(PolyId p);
  enum class Values : std::uint8_t { OfFactors, OfVariables };
  /// Like zero_by_cases, splitting on the values of an atom with few values.
  bool zero_by_values(PolyId p, Values of);
  /// Like zero_by_cases, splitting on residues of up to `variables` divided variables.
  bool zero_by_residues(PolyId p, int variables);
  /// The factor common to all terms of p.
  Monomial common_factor(PolyId p) const;
  PolyId without(PolyId p, const Monomial& factor);
  std::optional<AtomId> innermost_case(PolyId p) const;
  /// p with one-valued variables replaced by their number, x % y by x - y*(x // y), and quotients
  /// simplified: multiples of the divisor, common factors, nested quotients, values fixed by
  /// bounds.
  PolyId divided(PolyId p);
  PolyId quotient(PolyId of, PolyId by);
  /// p where `zero` is 0, with one variable eliminated.
  PolyId solved(PolyId p, PolyId zero);
  /// Nonnegative atoms of p that share a product with an atom of the fact.
  std::vector<AtomId> factors_beside(const Poly& p, const Poly& fact);
  bool flag_is(AtomId flag, bool value);
  Interval both(const Interval& a, const Interval& b);
  /// The interval with its ends moved inwards to numbers that the congruence of p allows.
  Interval trimmed(const Interval& range, PolyId p, int depth);
  Congruence congruence(PolyId p, int depth);
  Congruence atom_congruence(AtomId a, int depth);
  /// Collects residues: a known remainder fixes its dividend modulo the divisor, and an equation
  /// holds modulo each of its coefficients.
  void find_residues();
  void add_residue(PolyId p, const Int& modulus);
  /// Solves a residue for each term with an invertible coefficient; narrows single atoms.
  void solve_residue(PolyId p, const Int& modulus);
  void narrow(AtomId a, const Interval& range);
  Interval atom_bounds(AtomId a);
  /// True if the divisor is never 0; a quotient by 0 may be any number.
  bool divides_surely(PolyId divisor);
  Interval plain(PolyId p);
  Interval relaxed(PolyId p, int depth);
  Interval bounds(PolyId p, int depth);
  Interval with_facts(PolyId p, int depth);
  /// True if the facts, and p <= 0 if given, have no rational solution when each product of atoms
  /// is an independent unknown within its bounds.
  bool impossible(std::optional<PolyId> p = {});
  std::optional<Interval> by_flag(PolyId p, AtomId flag, int depth);
  Interval by_maximum(PolyId p, AtomId maximum, int depth);

  const Exprs* exprs_;
  Ring* ring_;
  std::vector<PolyId> facts_;                     // each is <= 0
  std::vector<std::pair<PolyId, Int>> residues_;  // p = 0 (mod m); modulo 0 it is 0
  std::set<PolyId> nonzero_;
  std::vector<std::pair<PolyId, PolyId>> guarded_;  // second is not 0 where first is 1
  std::map<AtomId, bool> flags_;
  std::map<AtomId, Interval> known_;  // bounds of atoms from the facts
  std::map<AtomId, Interval> memo_;
  Budget* budget_ = nullptr;  // null: each question has its own
  bool settled_ = false, contradictory_ = false;
};

}  // namespace touchstone::symbolic
