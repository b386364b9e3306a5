#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "touchstone/symbolic/number/interval.h"

namespace touchstone::symbolic {

/// Linear inequalities over unknown numbers, and whether any rational ones satisfy all of them: the
/// simplex method of Dutertre and de Moura (A fast linear-arithmetic solver for DPLL(T), 2006) with
/// Bland's rule, each row of the tableau in integers over a denominator of its own.
class Inequalities {
 public:
  /// A coefficient of an unknown, by its number.
  using Sum = std::vector<std::pair<std::size_t, Int>>;

  /// Unknowns by their bounds.
  explicit Inequalities(std::vector<Interval> unknowns)
      : unknowns_(unknowns.size()), bounds_(std::move(unknowns)) {}
  /// The sum, each unknown in it once, is at most so much.
  void at_most(const Sum& sum, const Int& most);
  /// True where nothing satisfies them; false also where that was not found out in so many pivots,
  /// of which those that are left are left.
  bool contradict(int& pivots);

 private:
  /// denominator * basic = the sum of coefs[i] * (what stands in column i).
  struct Row {
    std::vector<Int> coefs;
    Int denominator;
    std::size_t basic = 0;
  };
  Int value(const Row& row) const;  // of the basic one, times the denominator
  bool may_move(std::size_t column, bool up) const;
  void pivot(std::size_t row, std::size_t column, const Int& value);

  std::size_t unknowns_;
  std::vector<Interval> bounds_;  // of unknowns, then of the sums
  std::vector<Row> rows_;
  std::vector<std::size_t> columns_;  // which of them stands there
  std::vector<Int> at_;               // its value, one of its bounds or 0
};

}  // namespace touchstone::symbolic
