#pragma once

#include <compare>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "touchstone/base/checked.h"

namespace touchstone::symbolic {

struct BigInteger;  // integer.cpp: a reference-counted boost::multiprecision::cpp_int

/// An integer of arbitrary size, one word wide. A 63-bit value is stored in the word itself,
/// doubled, and computed with checked builtins; a larger one is reference-counted on the heap, and
/// the word is its address plus one. Nothing wraps.
class Int {
 public:
  Int(std::int64_t value = 0)  // NOLINT(google-explicit-constructor)
      : word_(value >= -kLimit && value < kLimit ? value * 2 : widened(value)) {}
  Int(int value) : word_(std::int64_t{value} * 2) {}  // NOLINT(google-explicit-constructor)
  Int(const Int& other) : word_(other.word_) { retain(); }
  Int(Int&& other) noexcept : word_(std::exchange(other.word_, 0)) {}
  Int& operator=(const Int& other) {
    other.retain();
    release();
    word_ = other.word_;
    return *this;
  }
  Int& operator=(Int&& other) noexcept {
    std::swap(word_, other.word_);
    return *this;
  }
  [[gnu::always_inline]] ~Int() { release(); }
  /// Parses decimal digits with an optional leading minus.
  static Int from_digits(std::string_view digits);

  /// The value if it fits in 64 bits.
  std::optional<std::int64_t> small() const {
    return in_place() ? std::optional<std::int64_t>(word_ >> 1) : narrowed();
  }
  bool is_small() const { return in_place() || narrowed(); }
  bool on_heap() const { return !in_place() && word_ != kNone; }
  bool is_zero() const { return word_ == 0; }
  bool is_one() const { return word_ == 2; }
  /// -1, 0 or 1.
  int sign() const {
    if (!in_place()) return big_sign();
    return word_ < 0 ? -1 : word_ > 0 ? 1 : 0;
  }
  std::string str() const;
  /// Depends on the value alone: equal in every run.
  std::uint64_t hash() const { return in_place() ? static_cast<std::uint64_t>(word_) : big_hash(); }

  friend Int operator+(const Int& a, const Int& b) {
    std::int64_t r = 0;
    if (both_in_place(a, b) && !__builtin_add_overflow(a.word_, b.word_, &r)) return adopt(r);
    return adopt(add_big(a.word_, b.word_));
  }
  friend Int operator-(const Int& a, const Int& b) {
    std::int64_t r = 0;
    if (both_in_place(a, b) && !__builtin_sub_overflow(a.word_, b.word_, &r)) return adopt(r);
    return adopt(sub_big(a.word_, b.word_));
  }
  [[gnu::always_inline]] friend Int operator*(const Int& a, const Int& b) {
    std::int64_t r = 0;
    if (both_in_place(a, b) && !__builtin_mul_overflow(a.word_ >> 1, b.word_, &r)) return adopt(r);
    return adopt(mul_big(a.word_, b.word_));
  }
  Int operator-() const { return Int(0) - *this; }
  Int& operator+=(const Int& b) { return *this = *this + b; }
  Int& operator-=(const Int& b) { return *this = *this - b; }

  friend bool operator==(const Int& a, const Int& b) {
    if (a.word_ == b.word_) return true;
    return (a.word_ & b.word_ & 1) != 0 && compare_big(a.word_, b.word_) == 0;
  }
  [[gnu::always_inline]] friend std::strong_ordering operator<=>(const Int& a, const Int& b) {
    if (both_in_place(a, b)) return a.word_ <=> b.word_;
    return compare_big(a.word_, b.word_) <=> 0;
  }

  /// Quotient rounded towards minus infinity; b != 0.
  friend Int floor_div(const Int& a, const Int& b) {
    if (both_in_place(a, b)) return touchstone::floor_div(a.word_ >> 1, b.word_ >> 1);
    return adopt(div_big(a.word_, b.word_));
  }
  /// Remainder with the sign of b; b != 0.
  friend Int floor_mod(const Int& a, const Int& b) {
    if (both_in_place(a, b)) return adopt(touchstone::floor_mod(a.word_, b.word_));
    return adopt(mod_big(a.word_, b.word_));
  }
  /// Greatest common divisor, never negative; gcd(0, 0) = 0.
  friend Int gcd(const Int& a, const Int& b) {
    if (a.is_one() || b.is_one()) return 1;
    if (both_in_place(a, b)) return std::gcd(a.word_ >> 1, b.word_ >> 1);
    return adopt(gcd_big(a.word_, b.word_));
  }

 private:
  friend class End;
  friend struct BigInteger;
  struct Word {
    std::int64_t word;
  };
  explicit Int(Word w) : word_(w.word) {}

  static constexpr std::int64_t kLimit = std::int64_t{1} << 62;
  /// Not a number: End (interval.h) uses it for an open end. Copied like an in-place value.
  static constexpr std::int64_t kNone = 1;

  static Int adopt(std::int64_t word) { return Int(Word{word}); }
  bool in_place() const { return (word_ & 1) == 0; }
  static bool both_in_place(const Int& a, const Int& b) { return ((a.word_ | b.word_) & 1) == 0; }
  // Inlined: the simplifier copies and destroys numbers all the time.
  [[gnu::always_inline]] void retain() const {
    if (!in_place() && word_ != kNone) retain_big(word_);
  }
  [[gnu::always_inline]] void release() const {
    if (!in_place() && word_ != kNone) release_big(word_);
  }

  // Words of any size; the caller owns the result.
  static std::int64_t widened(std::int64_t value);
  static void retain_big(std::int64_t a);
  static void release_big(std::int64_t a);
  static std::int64_t add_big(std::int64_t a, std::int64_t b);
  static std::int64_t sub_big(std::int64_t a, std::int64_t b);
  static std::int64_t mul_big(std::int64_t a, std::int64_t b);
  static std::int64_t div_big(std::int64_t a, std::int64_t b);
  static std::int64_t mod_big(std::int64_t a, std::int64_t b);
  static std::int64_t gcd_big(std::int64_t a, std::int64_t b);
  static int compare_big(std::int64_t a, std::int64_t b);
  int big_sign() const;
  std::uint64_t big_hash() const;
  std::optional<std::int64_t> narrowed() const;

  std::int64_t word_;
};

Int floor_div(const Int& a, const Int& b);
Int floor_mod(const Int& a, const Int& b);
Int gcd(const Int& a, const Int& b);

inline Int abs(const Int& a) { return a.sign() < 0 ? -a : a; }
inline bool divides(const Int& d, const Int& a) { return d.is_one() || floor_mod(a, d).is_zero(); }
inline const Int& smaller(const Int& a, const Int& b) { return b < a ? b : a; }
inline const Int& larger(const Int& a, const Int& b) { return a < b ? b : a; }

}  // namespace touchstone::symbolic
