#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "touchstone/symbolic/check/ring.h"
#include "touchstone/symbolic/number/congruence.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

/// Consequences of facts, as far as intervals, congruences, sums of facts and the cases of flags
/// and maxima tell. Knows nothing of variables but the facts.
class Entailment {
 public:
  Entailment(const Exprs& exprs, Ring& ring) : exprs_(&exprs), ring_(&ring) {}

  /// What may still be spent on a question; past it the answer is false.
  struct Budget {
    int cases = kLimits.cases;
    int bounds = kLimits.case_bounds;
    std::int64_t terms = 500'000;  // of polynomials; a long division makes long ones
  };
  /// All questions to this and to its copies are answered from one budget, which outlives them;
  /// with null, as at first, each has one of its own. `terms` counts those that the ring has made.
  void spend_from(Budget* budget) { budget_ = budget; }

  /// From now on the condition holds. What it says in a form not understood is left out.
  void assume(Expr condition);
  /// From now on p is not 0, or is.
  void assume_nonzero(PolyId p);
  void assume_zero(PolyId p);
  /// The same where a guard is 1, as cases come to it.
  void assume_nonzero_where(PolyId guard, PolyId p) { guarded_.emplace_back(guard, p); }
  /// True where the facts imply the condition; false says nothing.
  bool holds(Expr condition);
  bool nonzero(PolyId p);
  /// True where p is 0 whichever member of each maximum in it is the largest, whichever flags hold,
  /// whatever values those atoms have that have but a few, whatever variables leave by what divides
  /// them, and with variables replaced by what linear equations among the facts give them.
  bool zero_by_cases(PolyId p);
  /// Every value of p lies within. Anything may come out where the facts contradict each other.
  Interval bounds(PolyId p) { return bounds(p, kLimits.entailed_depth); }
  bool contradictory();

 private:
  bool spent() const { return budget_ && (budget_->bounds < 0 || ring_->terms() > budget_->terms); }
  bool facts_contradict();
  void assume_flag(AtomId flag, bool value);
  void at_most_zero(PolyId p);
  /// The values of an atom that make a polynomial of the second degree in it 0.
  void assume_roots(PolyId p);
  void tighten();
  /// True where a point that satisfies the facts was found at which p is not 0; false says nothing.
  bool fails_at_a_point(PolyId p);
  bool satisfied(const std::function<std::optional<Int>(PolyId)>& at) const;
  bool flags_hold(PolyId truth);
  /// The answer of `shown`, at the expense of this budget where no other is set.
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
  /// The same, by the values of an atom that has but a few.
  bool zero_by_values(PolyId p, Values of);
  /// The same, by the remainders of a variable by what it is divided by; of so many variables.
  bool zero_by_residues(PolyId p, int variables);
  /// The factor that all terms of p have.
  Monomial common_factor(PolyId p) const;
  PolyId without(PolyId p, const Monomial& factor);
  std::optional<AtomId> innermost_case(PolyId p) const;
  /// p with variables of one value as that number, x % y as x - y*(x // y), and of a quotient what
  /// it gives whole: multiples of the divisor, factors of both, quotients in it, and all of it
  /// where its bounds tell it.
  PolyId divided(PolyId p);
  PolyId quotient(PolyId of, PolyId by);
  /// p where `zero` is 0: without a variable that it gives by the others.
  PolyId solved(PolyId p, PolyId zero);
  /// Atoms of p that are not negative and stand in a product with an atom of the fact.
  std::vector<AtomId> factors_beside(const Poly& p, const Poly& fact);
  bool flag_is(AtomId flag, bool value);
  Interval both(const Interval& a, const Interval& b);
  /// The interval's ends moved to numbers that the congruence of p allows.
  Interval trimmed(const Interval& range, PolyId p, int depth);
  Congruence congruence(PolyId p, int depth);
  Congruence atom_congruence(AtomId a, int depth);
  /// Remainders that are known make their dividends congruent to them, and equations hold modulo
  /// each of their coefficients.
  void find_residues();
  void add_residue(PolyId p, const Int& modulus);
  /// One term of a residue by the others, where its coefficient has an inverse; values of one atom.
  void solve_residue(PolyId p, const Int& modulus);
  void narrow(AtomId a, const Interval& range);
  Interval atom_bounds(AtomId a);
  /// Whether a divisor is not 0: a quotient by 0 may be any number.
  bool divides_surely(PolyId divisor);
  Interval plain(PolyId p);
  Interval relaxed(PolyId p, int depth);
  Interval bounds(PolyId p, int depth);
  Interval with_facts(PolyId p, int depth);
  /// True where the facts, and p <= 0 if it is given, have no rational solution, each product of
  /// atoms a number of its own within its bounds.
  bool impossible(std::optional<PolyId> p = {});
  std::optional<Interval> by_flag(PolyId p, AtomId flag, int depth);
  Interval by_maximum(PolyId p, AtomId maximum, int depth);

  const Exprs* exprs_;
  Ring* ring_;
  std::vector<PolyId> facts_;                     // each is at most 0
  std::vector<std::pair<PolyId, Int>> residues_;  // p = 0 (mod m); modulo 0 it is 0
  std::set<PolyId> nonzero_;
  std::vector<std::pair<PolyId, PolyId>> guarded_;  // not 0 where the first is 1
  std::map<AtomId, bool> flags_;
  std::map<AtomId, Interval> known_;  // bounds of atoms by facts
  std::map<AtomId, Interval> memo_;
  Budget* budget_ = nullptr;  // null: none
  bool settled_ = false, contradictory_ = false;
};

}  // namespace touchstone::symbolic
