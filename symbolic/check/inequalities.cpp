#include "touchstone/symbolic/check/inequalities.h"

#include <algorithm>
#include <optional>

#include "touchstone/base/interrupt.h"

namespace touchstone::symbolic {

namespace {

// Numbers far beyond those of 64-bit facts are not worth their time.
bool is_large(const Int& x) {
  static const Int most = [] {
    Int power = 2;
    for (int i = 0; i < 10; ++i) power = power * power;
    return power;
  }();
  return x.on_heap() && abs(x) > most;
}

}  // namespace

void Inequalities::at_most(const Sum& sum, const Int& most) {
  Row row{std::vector<Int>(unknowns_), Int(1), bounds_.size()};
  for (const auto& [unknown, coef] : sum) row.coefs[unknown] = coef;
  rows_.push_back(std::move(row));
  bounds_.push_back({std::nullopt, most});
}

Int Inequalities::value(const Row& row) const {
  Int sum = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (!row.coefs[i].is_zero() && !at_[i].is_zero()) sum += row.coefs[i] * at_[i];
  return sum;
}

bool Inequalities::may_move(std::size_t column, bool up) const {
  const Interval& range = bounds_[columns_[column]];
  return up ? !range.hi || at_[column] < *range.hi : !range.lo || *range.lo < at_[column];
}

// The row's basic variable leaves with `value`; the column's variable enters.
void Inequalities::pivot(std::size_t row, std::size_t column, const Int& value) {
  Row& own = rows_[row];
  const Int lead = own.coefs[column];
  std::swap(own.basic, columns_[column]);
  own.coefs[column] = -own.denominator;
  own.denominator = abs(lead);
  if (lead.sign() > 0)
    for (Int& c : own.coefs) c = -c;
  at_[column] = value;
  for (Row& r : rows_) {
    if (&r == &own || r.coefs[column].is_zero()) continue;
    const Int times = r.coefs[column];
    r.denominator = r.denominator * own.denominator;
    Int common = r.denominator;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      r.coefs[i] = (i == column ? Int(0) : r.coefs[i] * own.denominator) + times * own.coefs[i];
      if (!common.is_one()) common = gcd(common, r.coefs[i]);
    }
    if (common.is_one()) continue;
    r.denominator = floor_div(r.denominator, common);
    for (Int& c : r.coefs) c = floor_div(c, common);
  }
}

bool Inequalities::contradict(int& pivots) {
  columns_.clear();
  at_.clear();
  for (std::size_t i = 0; i < unknowns_; ++i) {
    const Interval& range = bounds_[i];
    if (range.lo && range.hi && *range.hi < *range.lo) return true;
    columns_.push_back(i);
    at_.push_back(range.lo ? *range.lo : range.hi ? *range.hi : Int(0));
  }
  for (; pivots > 0; --pivots) {
    Interrupt::poll();
    // Bland's rule: the first basic variable out of bounds, and the first that can repair it.
    std::optional<std::size_t> worst;
    bool low = false;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (worst && rows_[*worst].basic < rows_[r].basic) continue;
      const Interval& range = bounds_[rows_[r].basic];
      const Int now = value(rows_[r]);
      const bool below = range.lo && now < *range.lo * rows_[r].denominator;
      if (!below && !(range.hi && *range.hi * rows_[r].denominator < now)) continue;
      worst = r;
      low = below;
    }
    if (!worst) return false;
    const Row& row = rows_[*worst];
    if (is_large(row.denominator) || std::ranges::any_of(row.coefs, is_large)) return false;
    std::optional<std::size_t> enters;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (const int sign = row.coefs[i].sign(); sign != 0 && may_move(i, (sign > 0) == low) &&
                                                (!enters || columns_[i] < columns_[*enters]))
        enters = i;
    if (!enters) return true;
    const Interval& range = bounds_[row.basic];
    pivot(*worst, *enters, low ? *range.lo : *range.hi);
  }
  return false;
}

}  // namespace touchstone::symbolic
