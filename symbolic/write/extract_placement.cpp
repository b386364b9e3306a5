// Placement of a choice: the sum around it and its members as a table, from which the cheapest
// placement is taken.
#include "touchstone/symbolic/write/extract_placement.h"

#include <algorithm>
#include <array>
#include <limits>

#include "touchstone/base/checked.h"
#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

namespace {

// 64-bit numbers are used if all are below this limit, so no product of two overflows; else Int.
constexpr std::int64_t kSmall = std::int64_t{1} << 28;

bool is_zero(std::int64_t a) { return a == 0; }
bool is_one(std::int64_t a) { return a == 1; }
int sign(std::int64_t a) { return a < 0 ? -1 : a > 0 ? 1 : 0; }
std::int64_t abs(std::int64_t a) { return a < 0 ? -a : a; }
bool divides(std::int64_t d, std::int64_t a) { return d == 1 || d == -1 || a % d == 0; }
std::int64_t floor_div(std::int64_t a, std::int64_t b) { return touchstone::floor_div(a, b); }
bool is_zero(const Int& a) { return a.is_zero(); }
bool is_one(const Int& a) { return a.is_one(); }
int sign(const Int& a) { return a.sign(); }

/// Number of nodes that a term with this coefficient adds to a sum.
template <class Number>
int cost(const Number& coef) {
  return is_zero(coef) ? 0 : is_one(abs(coef)) ? 2 : 4;
}

/// A fixed-capacity Row for small tables.
template <std::size_t N>
struct SmallRow {
  static constexpr std::size_t kMost = N;
  std::array<std::int64_t, N> numbers;
  std::uint32_t count = 0;

  std::size_t size() const { return count; }
  void push_back(std::int64_t n) { numbers[count++] = n; }
  std::int64_t& operator[](std::size_t i) { return numbers[i]; }
  const std::int64_t& operator[](std::size_t i) const { return numbers[i]; }
  std::int64_t* begin() { return numbers.data(); }
  std::int64_t* end() { return numbers.data() + count; }
  const std::int64_t* begin() const { return numbers.data(); }
  const std::int64_t* end() const { return numbers.data() + count; }
  bool operator==(const SmallRow& other) const {
    return count == other.count && std::equal(begin(), end(), other.begin());
  }
};

struct Column {
  Id atom;
  int size;
};
using Columns = SmallVector<Column, 12>;

/// Accumulates the cost of a sum's terms.
template <class Number>
class Price {
 public:
  Price(int operand, bool positive) : total_(operand > 0 ? operand + 1 : 0), positive_(positive) {}
  void term(const Number& coef, int atom) {
    if (is_zero(coef)) return;
    total_ += 1 + atom;
    positive_ |= sign(coef) > 0;
    const Number size = abs(coef);
    if (is_one(size)) return;
    plain_minus_ = false;
    for (std::size_t i = 0; i < known_; ++i)
      if (factors_[i] == size) return;  // grouped with an earlier term of the same factor
    total_ += 2;
    if (known_ < factors_.size()) factors_[known_++] = size;
  }
  int end(const Number& constant) {
    if (!is_zero(constant)) total_ += 2;
    if (total_ == 0) return 1;
    return total_ - 1 + (!positive_ && is_zero(constant) && plain_minus_ ? 1 : 0);
  }

 private:
  int total_;
  bool positive_, plain_minus_ = true;
  std::array<Number, 6> factors_;
  std::size_t known_ = 0;
};

}  // namespace

/// The sum around a choice and its members as rows: a column for each atom, then the constant.
template <class Number, class Row>
class Extractor::Table {
 public:
  Table(const Columns& columns, const Sum& work, const Choice& choice, const auto& number)
      : columns_(columns), select_(choice.shape == Choice::Shape::Select) {
    coef_ = number(choice.coef);
    const auto row = [&](const Sum& s) {
      Row r;
      auto t = s.terms.begin();
      for (const Column& c : columns_)
        r.push_back(t != s.terms.end() && t->atom == c.atom ? number((t++)->coef) : Number(0));
      r.push_back(number(s.constant));
      return r;
    };
    work_ = row(work);
    for (const Sum& m : choice.members) members_.push_back(row(m));
  }

  Placement best() {
    Row best;
    Number best_unit = 1;
    int least = -1;
    SmallVector<Row, 4> scaled;
    if (coef_ == Number(-1)) {
      // A minus sign costs one part more, so none is smaller than the lower bound.
      scaled = members_;
      for (Row& m : scaled)
        for (Number& n : m) n = -n;
      best = best_shift(scaled, 1);
      int inside = select_ ? 1 : static_cast<int>(scaled.size()) - 1;
      for (const Row& m : scaled) inside += price(m, best, 1, 0, false);
      if (price(work_, best, -1, inside, true) <= least_inside(1)) return placement(best, 1);
    }
    for (const Number& size : {abs(coef_), Number(1)}) {
      const int lowest = least_inside(floor_div(coef_, size)) + (is_one(size) ? 0 : 2);
      for (const int turn : {sign(coef_), -sign(coef_)}) {
        if (least >= 0 && least <= lowest) break;  // the first of equals wins
        const Number unit = size * Number(turn);
        const Number factor = floor_div(coef_, unit);
        scaled = members_;
        for (Row& m : scaled)
          for (Number& n : m) n = n * factor;
        const auto consider = [&](const Row& shift) {
          if (least >= 0 && unit == best_unit && shift == best) return;
          int inside = select_ ? 1 : static_cast<int>(scaled.size()) - 1;
          for (const Row& m : scaled) {
            inside += price(m, shift, 1, 0, false);
            if (least >= 0 && inside >= least) return;
          }
          if (!is_one(size)) inside += 2;
          const int total = price(work_, shift, -unit, inside, turn > 0 || !is_one(size));
          if (least >= 0 && total >= least) return;
          least = total;
          best = shift;
          best_unit = unit;
        };
        consider(best_shift(scaled, unit));
        if (least <= lowest) break;
        if (!select_ && columns_.size() > 1) consider(best_shift(scaled, unit, true));
        if (least <= lowest) break;
        for (const Row& m : scaled) {
          Row shift = m;
          for (Number& n : shift) n = -n;
          consider(shift);
        }
        const std::size_t n = columns_.size();
        bool any = false, all = true;
        for (std::size_t i = 0; i < n && all; ++i) {
          any |= !is_zero(work_[i]);
          all = divides(unit, work_[i]);
        }
        if (!any || !all) continue;
        Row shift = work_;
        for (Number& x : shift) x = floor_div(x, unit);
        consider(shift);
      }
      if (is_one(size)) break;
    }
    return placement(best, best_unit);
  }

 private:
  Placement placement(const Row& shift, const Number& unit) const {
    Placement r{unit, floor_div(coef_, unit), {}};
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (!is_zero(shift[i])) r.shift.terms.push_back({shift[i], columns_[i].atom});
    r.shift.constant = shift[columns_.size()];
    return r;
  }

  /// The size of a + factor * b as rendered, beside another operand of the given size.
  int price(const Row& a, const Row& b, const Number& factor, int operand, bool positive) const {
    Price<Number> total(operand, positive);
    const std::size_t n = columns_.size();
    for (std::size_t i = 0; i < n; ++i) total.term(a[i] + b[i] * factor, columns_[i].size);
    return total.end(a[n] + b[n] * factor);
  }

  /// A lower bound on the size of the members with this factor.
  int least_inside(const Number& factor) const {
    if (members_.size() != 2) return 2 * static_cast<int>(members_.size()) - 1;
    // The members' difference occurs in one of them, or costs more in both.
    const std::size_t n = columns_.size();
    const Row &a = members_[0], &b = members_[1];
    int parts = a[n] == b[n] ? 0 : 2, differ = a[n] == b[n] ? 0 : 1;
    std::array<Number, 4> factors{};
    std::size_t known = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Number size = abs((b[i] - a[i]) * factor);
      if (is_zero(size)) continue;
      ++differ;
      parts += 1 + columns_[i].size;
      if (is_one(size) || known == factors.size()) continue;
      if (std::find(factors.begin(), factors.begin() + known, size) != factors.begin() + known)
        continue;
      factors[known++] = size;
      parts += 2;  // or the atom occurs twice
    }
    return 1 + parts - (differ < 2 ? 0 : 2);
  }

  /// The cheapest shift of the members, chosen for one atom after the other, from either end, then
  /// for the constant.
  Row best_shift(const SmallVector<Row, 4>& members, const Number& unit,
                 bool from_last = false) const {
    constexpr auto kOutside = std::numeric_limits<std::size_t>::max();
    const std::size_t n = columns_.size(), k = members.size();
    Row shift;
    SmallVector<std::size_t, 6> left;  // terms of each member after the shift
    for (const Row& m : members)
      left.push_back(static_cast<std::size_t>(
          std::count_if(m.begin(), m.begin() + n, [](const Number& x) { return !is_zero(x); })));
    const auto best = [&](std::size_t column, const auto& price) {
      const Number& outside = work_[column];
      Number chosen = 0;
      int least = -1;
      const auto consider = [&](const Number& by) {
        int total = price(outside - by * unit, Number(0), kOutside);
        for (std::size_t i = 0; i < k && (least < 0 || total < least); ++i)
          total += price(members[i][column] + by, members[i][column], i);
        if (least >= 0 && total >= least) return;
        least = total;
        chosen = by;
      };
      consider(0);
      if (!is_zero(outside) && divides(unit, outside)) consider(floor_div(outside, unit));
      for (const Row& m : members)
        if (!is_zero(m[column])) consider(-m[column]);
      return chosen;
    };
    for (std::size_t i = 0; i < n; ++i) shift.push_back(Number(0));
    for (std::size_t step = 0; step < n; ++step) {
      const std::size_t column = from_last ? n - 1 - step : step;
      const bool inside =
          std::ranges::any_of(members, [&](const Row& m) { return !is_zero(m[column]); });
      // A member's only term takes the place of its 0.
      const auto term_price = [&](const Number& c, const Number& before, std::size_t i) {
        const bool only =
            i != kOutside && left[i] == (is_zero(before) ? 0U : 1U) && is_zero(members[i][n]);
        return only ? std::max(cost(c) - (c == Number(-1) ? 0 : 1), 1) : cost(c);
      };
      const Number by = inside ? best(column, term_price) : Number(0);
      shift[column] = by;
      if (is_zero(by)) continue;
      for (std::size_t i = 0; i < k; ++i) {
        if (!is_zero(members[i][column])) --left[i];
        if (!is_zero(members[i][column] + by)) ++left[i];
      }
    }
    shift.push_back(best(n, [&](const Number& c, const Number&, std::size_t i) {
      return is_zero(c) || (i != kOutside && left[i] == 0) ? 0 : 2;
    }));
    return shift;
  }

  const Columns& columns_;
  bool select_;
  Number coef_;
  Row work_;
  SmallVector<Row, 4> members_;
};

Extractor::Placement Extractor::best_placement(const Sum& work, const Choice& choice) {
  std::size_t terms = work.terms.size();
  for (const Sum& m : choice.members) terms += m.terms.size();
  if (terms * choice.members.size() > kLimits.placed_cells) return {choice.coef, Int(1), {}};
  const auto atom_size = [&](Id atom) {
    return static_cast<int>(std::min(size(form_of(atom)), kLimits.placed_size));
  };
  Columns columns;
  bool small = true;
  const auto look = [&](const Sum& s) {
    const auto is_small = [](const Int& n) { return n < kSmall && Int(-kSmall) < n; };
    small &= is_small(s.constant);
    std::size_t at = 0;
    for (const Term& t : s.terms) {
      small &= is_small(t.coef);
      while (at < columns.size() && columns[at].atom != t.atom &&
             compare(c_, columns[at].atom, t.atom) < 0)
        ++at;
      if (at == columns.size() || columns[at].atom != t.atom)
        columns.insert(columns.begin() + at, {t.atom, atom_size(t.atom)});
      ++at;
    }
  };
  look(work);
  for (const Sum& m : choice.members) look(m);
  look({choice.coef, {}});
  const auto as_word = [](const Int& n) { return *n.small(); };
  using Few = SmallRow<8>;
  if (small && columns.size() < Few::kMost)
    return Table<std::int64_t, Few>(columns, work, choice, as_word).best();
  if (small)
    return Table<std::int64_t, SmallVector<std::int64_t, 12>>(columns, work, choice, as_word)
        .best();
  return Table<Int, SmallVector<Int, 12>>(columns, work, choice, [](const Int& n) { return n; })
      .best();
}

}  // namespace touchstone::symbolic
