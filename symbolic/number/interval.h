#pragma once

#include <concepts>
#include <optional>

#include "touchstone/symbolic/number/integer.h"

namespace touchstone::symbolic {

/// An end of an interval: a number or open. One word wide, with the interface of an optional Int.
class End {
 public:
  End() : value_(Int::adopt(Int::kNone)) {}
  End(std::nullopt_t) : End() {}                // NOLINT(google-explicit-constructor)
  End(Int value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  template <std::same_as<std::optional<Int>> Other>
  End(Other value) : End() {  // NOLINT(google-explicit-constructor)
    if (value) value_ = *std::move(value);
  }
  operator std::optional<Int>() const {  // NOLINT(google-explicit-constructor)
    return *this ? std::optional(value_) : std::nullopt;
  }

  explicit operator bool() const { return value_.word_ != Int::kNone; }
  bool has_value() const { return value_.word_ != Int::kNone; }
  const Int& operator*() const { return value_; }
  Int& operator*() { return value_; }
  const Int* operator->() const { return &value_; }
  void reset() { *this = End(); }

  bool operator==(const End& other) const {
    if (value_.word_ == other.value_.word_) return true;
    return *this && other && value_ == other.value_;
  }
  /// Open if either is.
  End operator+(const End& other) const {
    std::int64_t r = 0;
    if (Int::both_in_place(value_, other.value_) &&
        !__builtin_add_overflow(value_.word_, other.value_.word_, &r))
      return Int::adopt(r);
    return *this && other ? End(value_ + other.value_) : End();
  }
  /// Adds a * factor.
  void add_product(const End& a, const Int& factor) {
    std::int64_t product = 0, sum = 0;
    if (((value_.word_ | a.value_.word_ | factor.word_) & 1) == 0 &&
        !__builtin_mul_overflow(a.value_.word_ >> 1, factor.word_, &product) &&
        !__builtin_add_overflow(value_.word_, product, &sum))
      value_.word_ = sum;
    else if (a.value_.word_ == Int::kNone && (value_.word_ & 1) == 0)
      value_.word_ = Int::kNone;
    else if (value_.word_ != Int::kNone)
      add_large_product(a, factor);
  }
  End operator*(const Int& factor) const { return *this ? End(value_ * factor) : End(); }

 private:
  void add_large_product(const End& a, const Int& factor);  // also handles open ends

  Int value_;
};

/// All integers from lo to hi, inclusive; an absent end is open. Never empty.
struct Interval {
  End lo, hi;

  static Interval point(const Int& value) { return {value, value}; }
  bool is_point() const { return lo && lo == hi; }
  /// True if every member is >= value, or <= value.
  bool at_least(const Int& value) const { return lo && *lo >= value; }
  bool at_most(const Int& value) const { return hi && *hi <= value; }
  bool within(const Int& from, const Int& to) const { return at_least(from) && at_most(to); }
  bool operator==(const Interval&) const = default;
  /// Keeps x where coef * x <= most, for a coef that is not 0; false if all of them are.
  bool narrow(const Int& coef, const Int& most);
  /// Adds a * factor.
  void add_product(const Interval& a, const Int& factor) {
    const int sign = factor.sign();
    if (sign == 0) return;
    lo.add_product(sign > 0 ? a.lo : a.hi, factor);
    hi.add_product(sign > 0 ? a.hi : a.lo, factor);
  }
};

/// Contains every sum of a member of a and a member of b.
inline Interval operator+(const Interval& a, const Interval& b) {
  return {a.lo + b.lo, a.hi + b.hi};
}
inline Interval operator*(const Interval& a, const Int& factor) {
  if (factor.is_zero()) return Interval::point(0);
  if (factor.sign() < 0) return {a.hi * factor, a.lo * factor};
  return {a.lo * factor, a.hi * factor};
}
Interval operator*(const Interval& a, const Interval& b);
/// Floor quotient and remainder. d >= 1 as a number; a 0 in an interval of divisors is ignored, and
/// few divisors are enumerated.
Interval floor_div(const Interval& a, const Int& d);
Interval floor_div(const Interval& a, const Interval& d);
Interval floor_mod(const Interval& a, const Int& d);
Interval floor_mod(const Interval& a, const Interval& d);
/// C's quotient and remainder; a 0 in an interval of divisors is ignored.
Interval trunc_div(const Interval& a, const Interval& d);
Interval trunc_mod(const Interval& a, const Interval& d);
/// The smallest interval that contains both.
Interval hull(const Interval& a, const Interval& b);
/// The intersection; a if the two are disjoint.
Interval meet(const Interval& a, const Interval& b);
/// Bounds of max(x, y) for x in a and y in b.
Interval larger(const Interval& a, const Interval& b);

}  // namespace touchstone::symbolic
