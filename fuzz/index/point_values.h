#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/symbolic/expr/expr.h"

namespace touchstone::fuzz {

/// An integer of any length at each of some points, or none.
class Column {
 public:
  std::size_t size() const { return count_; }
  bool defined(std::size_t point) const { return defined_.empty() || defined_[point] != 0; }
  bool defined_everywhere() const { return defined_.empty(); }
  /// The number at a point where it is defined.
  symbolic::Int at(std::size_t point) const {
    return wide_.empty() ? symbolic::Int(numbers_[point]) : wide_[point];
  }
  bool is_zero(std::size_t point) const {
    return wide_.empty() ? numbers_[point] == 0 : wide_[point].is_zero();
  }
  /// Wherever this one is defined, the other is, too, and they are equal there.
  bool holds_in(const Column& other) const;

  /// `count` points, all 0.
  void clear(std::size_t count);
  void set(std::size_t point, const symbolic::Int& value) {
    const std::optional<std::int64_t> small = value.small();
    if (wide_.empty() && small && *small<kMost&& * small> - kMost) {
      numbers_[point] = *small;
      most_ = std::max(most_, *small < 0 ? -*small : *small);
      return;
    }
    widen();
    wide_[point] = value;
  }

 private:
  friend class PointValues;
  static constexpr std::int64_t kMost = std::int64_t{1} << 62;

  void fill(std::size_t count, std::int64_t value);
  /// Numbers as they are, in wide_; and back, where all are below kMost.
  void widen();
  void narrow();
  /// Finds most_ anew.
  void measure();
  void leave_out(const Column& other);

  std::size_t count_ = 0;
  std::vector<std::int64_t> numbers_;   // anything where not defined
  std::vector<symbolic::Int> wide_;     // where not empty, instead of numbers_
  std::vector<unsigned char> defined_;  // empty: everywhere
  std::int64_t most_ = 0;               // none of numbers_ is further from 0; below kMost
};

/// Values of expressions as they are written, by the definitions of the operators alone, at all
/// points at once. None where a division by zero can change the value: a `where` takes one arm, a
/// false part makes an `and`, a true one an `or`. A name that was not given has no value.
class PointValues {
 public:
  /// Forgets the variables.
  void begin(std::size_t points);
  std::size_t points() const { return points_; }
  /// A new variable, 0 until it is set; the next place from 0 on.
  Column& add_variable(std::string_view name);
  const Column& variable(std::size_t place) const { return variables_[place]; }

  /// Throws ParseError pointing at the column. The result lasts until the next call.
  const Column& evaluate(std::string_view text) { return evaluate(text, 0, text.size()); }
  /// Only [from, to) of the text is read.
  const Column& evaluate(std::string_view text, std::size_t from, std::size_t to);

  /// The first name that was read since `begin` and not given; "" where there is none.
  const std::string& unknown() const { return unknown_; }

 private:
  class Builder;
  struct Literal {
    bool zero = false, literal = false;
  };

  std::size_t points_ = 0, variables_known_ = 0;
  std::deque<Column> variables_;  // beyond those known: their memory, to be used again
  std::deque<std::string> names_;
  std::deque<Column> stack_;
  std::vector<Literal> literals_;  // which values of the stack stand in the text
  std::string unknown_;
};

}  // namespace touchstone::fuzz
