#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "touchstone/symbolic/number/interval.h"

namespace touchstone::symbolic {

/// Linear inequalities over the rationals and a test whether they are infeasible: the simplex
/// method of Dutertre and de Moura (A fast linear-arithmetic solver for DPLL(T), 2006) with Bland's
/// rule. Each tableau row is a row of integers with its own denominator. Independent of the
/// simplifier's elimination (simplify/contradiction.cpp), whose conclusions it checks.
class Inequalities {
 public:
  /// A linear combination: unknown and coefficient.
  using Sum = std::vector<std::pair<std::size_t, Int>>;

  /// Bounds of each unknown.
  explicit Inequalities(std::vector<Interval> unknowns)
      : unknowns_(unknowns.size()), bounds_(std::move(unknowns)) {}
  /// Adds sum <= most; each unknown occurs once in `sum`.
  void at_most(const Sum& sum, const Int& most);
  /// True if infeasible; false also when the pivots run out. `pivots` returns how many remain.
  bool contradict(int& pivots);

 private:
  /// denominator * basic = the sum of coefs[i] * (variable in column i).
  struct Row {
    std::vector<Int> coefs;
    Int denominator;
    std::size_t basic = 0;
  };
  Int value(const Row& row) const;  // of the basic variable, times the denominator
  bool may_move(std::size_t column, bool up) const;
  void pivot(std::size_t row, std::size_t column, const Int& value);

  std::size_t unknowns_;
  std::vector<Interval> bounds_;  // of the unknowns, then of the sums
  std::vector<Row> rows_;
  std::vector<std::size_t> columns_;  // the variable in each column
  std::vector<Int> at_;               // its value: one of its bounds or 0
};

}  // namespace touchstone::symbolic
