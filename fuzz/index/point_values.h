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

/// An integer of any length, or none, at each of several points.
class Column {
 public:
  std::size_t size() const { return count_; }
  bool defined(std::size_t point) const { return defined_.empty() || defined_[point] != 0; }
  bool defined_everywhere() const { return defined_.empty(); }
  /// The value at a point where it is defined.
  symbolic::Int at(std::size_t point) const {
    return wide_.empty() ? symbolic::Int(numbers_[point]) : wide_[point];
  }
  bool is_zero(std::size_t point) const {
    return wide_.empty() ? numbers_[point] == 0 : wide_[point].is_zero();
  }

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
  /// widen moves the numbers to wide_; narrow moves them back if all are below kMost.
  void widen();
  void narrow();
  /// Recomputes most_.
  void measure();
  void leave_out(const Column& other);

  std::size_t count_ = 0;
  std::vector<std::int64_t> numbers_;   // unspecified where undefined
  std::vector<symbolic::Int> wide_;     // if not empty, replaces numbers_
  std::vector<unsigned char> defined_;  // empty: everywhere
  std::int64_t most_ = 0;               // bound on the magnitudes in numbers_; below kMost
};

/// Values of expressions as written, by the definitions of the operators alone, at all points at
/// once. Undefined where a division by zero can change the value: a `where` evaluates one arm, a
/// false part decides an `and`, a true one an `or`. Undeclared names have no value.
class PointValues {
 public:
  /// Forgets the variables.
  void begin(std::size_t points);
  std::size_t points() const { return points_; }
  /// Adds a variable, initially 0, at the next place from 0 on.
  Column& add_variable(std::string_view name);
  const Column& variable(std::size_t place) const { return variables_[place]; }

  /// Throws ParseError pointing at the column. The result is valid until the next call.
  const Column& evaluate(std::string_view text) { return evaluate(text, 0, text.size()); }
  /// Reads only [from, to) of the text.
  const Column& evaluate(std::string_view text, std::size_t from, std::size_t to);

  /// The first undeclared name read since `begin`; "" if none.
  const std::string& unknown() const { return unknown_; }

 private:
  class Builder;
  struct Literal {
    bool zero = false, literal = false;
  };

  std::size_t points_ = 0, variables_known_ = 0;
  std::deque<Column> variables_;  // beyond variables_known_: memory for reuse
  std::deque<std::string> names_;
  std::deque<Column> stack_;
  std::vector<Literal> literals_;  // which values on the stack are literals
  std::string unknown_;
};

}  // namespace touchstone::fuzz
