#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace touchstone::symbolic {

struct BigInteger;  // integer.cpp: a counted boost::multiprecision::cpp_int

/// An integer without bounds. 64-bit values are held in place and computed with checked builtins;
/// only a value beyond 64 bits lives on the heap. Nothing wraps.
class Int {
 public:
  Int(std::int64_t value = 0) : value_(value) {}  // NOLINT(google-explicit-constructor)
  Int(int value) : value_(value) {}               // NOLINT(google-explicit-constructor)
  Int(const Int& other) : value_(other.value_), big_(other.big_) {
    if (big_) retain();
  }
  Int(Int&& other) noexcept : value_(other.value_), big_(std::exchange(other.big_, nullptr)) {}
  Int& operator=(Int other) noexcept {
    std::swap(value_, other.value_);
    std::swap(big_, other.big_);
    return *this;
  }
  ~Int() {
    if (big_) release();
  }
  /// The value of a string of decimal digits, with an optional leading minus.
  static Int from_digits(const std::string& digits);

  /// The value where it fits in 64 bits.
  std::optional<std::int64_t> small() const {
    return big_ ? std::nullopt : std::optional<std::int64_t>(value_);
  }
  bool is_small() const { return big_ == nullptr; }
  bool is_zero() const { return !big_ && value_ == 0; }
  bool is_one() const { return !big_ && value_ == 1; }
  /// -1, 0 or 1.
  int sign() const {
    if (big_) return big_sign();
    return value_ < 0 ? -1 : value_ > 0 ? 1 : 0;
  }
  std::string str() const;
  std::uint64_t hash() const;

  friend Int operator+(const Int& a, const Int& b) {
    std::int64_t r = 0;
    if (!a.big_ && !b.big_ && !__builtin_add_overflow(a.value_, b.value_, &r)) return r;
    return add_big(a, b);
  }
  friend Int operator-(const Int& a, const Int& b) {
    std::int64_t r = 0;
    if (!a.big_ && !b.big_ && !__builtin_sub_overflow(a.value_, b.value_, &r)) return r;
    return sub_big(a, b);
  }
  friend Int operator*(const Int& a, const Int& b) {
    std::int64_t r = 0;
    if (!a.big_ && !b.big_ && !__builtin_mul_overflow(a.value_, b.value_, &r)) return r;
    return mul_big(a, b);
  }
  Int operator-() const { return Int(0) - *this; }
  Int& operator+=(const Int& b) { return *this = *this + b; }
  Int& operator-=(const Int& b) { return *this = *this - b; }

  friend bool operator==(const Int& a, const Int& b) {
    if (!a.big_ && !b.big_) return a.value_ == b.value_;
    return compare_big(a, b) == 0;
  }
  friend std::strong_ordering operator<=>(const Int& a, const Int& b) {
    if (!a.big_ && !b.big_) return a.value_ <=> b.value_;
    return compare_big(a, b) <=> 0;
  }

  /// Quotient rounded towards minus infinity; b != 0.
  friend Int floor_div(const Int& a, const Int& b);
  /// Remainder with the sign of b; b != 0.
  friend Int floor_mod(const Int& a, const Int& b);
  /// Greatest common divisor, never negative; gcd(0, 0) = 0.
  friend Int gcd(const Int& a, const Int& b);

 private:
  explicit Int(BigInteger* big) : big_(big) {}
  void retain() const;
  void release();
  int big_sign() const;
  static Int add_big(const Int& a, const Int& b);
  static Int sub_big(const Int& a, const Int& b);
  static Int mul_big(const Int& a, const Int& b);
  static int compare_big(const Int& a, const Int& b);
  friend struct BigInteger;

  std::int64_t value_ = 0;
  BigInteger* big_ = nullptr;  // set exactly where the value does not fit in value_
};

Int floor_div(const Int& a, const Int& b);
Int floor_mod(const Int& a, const Int& b);
Int gcd(const Int& a, const Int& b);

inline Int abs(const Int& a) { return a.sign() < 0 ? -a : a; }
inline bool divides(const Int& d, const Int& a) { return floor_mod(a, d).is_zero(); }
inline const Int& smaller(const Int& a, const Int& b) { return b < a ? b : a; }
inline const Int& larger(const Int& a, const Int& b) { return a < b ? b : a; }

}  // namespace touchstone::symbolic
