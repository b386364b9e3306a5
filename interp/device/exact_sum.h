#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "touchstone/dtype/convert.h"
#include "touchstone/dtype/rounding.h"
#include "touchstone/dtype/scalar.h"
#include "touchstone/dtype/storage.h"

namespace touchstone {

namespace detail {

// Positions of the digits of a sum of U (float or double): digit i weighs 2^(32 i + least
// exponent).
template <class U>
struct SumLayout {
  static constexpr DTypeInfo kInfo = info(dtype_v<U>);
  static constexpr int kFraction = kInfo.digits - 1;
  static constexpr int kLeastExponent = kInfo.min_exponent - kFraction;  // of the least subnormal
  // All finite values, and 64 bits for the number of terms.
  static constexpr int kDigits = (kInfo.max_exponent + 1 - kLeastExponent + 64 + 31) / 32;
};

// The values of all 8-bit patterns; a table is faster than decoding.
template <class T>
inline constexpr auto kValues = [] {
  std::array<float, 256> values{};
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = to_float(T{static_cast<std::uint8_t>(i)});
  return values;
}();
template <class U, class T>
constexpr U widened(T x) {
  if constexpr (is_float_storage<T> && sizeof(T) == 1)
    return static_cast<U>(kValues<T>[x.bits]);
  else
    return convert<U>(x);
}

// The special terms of a sum: NaNs and infinities.
struct SumSpecials {
  bool nan = false;
  bool positive_infinity = false;
  bool negative_infinity = false;
  bool any() const { return nan || positive_infinity || negative_infinity; }
};

// For sums of products of doubles; others have fewer.
inline constexpr std::size_t kMostDigits = 134;
// The value of at most kMostDigits signed digits, each within +-2^62; does not change them.
UnpackedReal unpack_digits(const std::int64_t* digits, int count, std::int64_t least_exponent);
// Carries until all digits except the topmost, which has the sign, are in [0, 2^32).
void carry_digits(std::int64_t* digits, int count);

}  // namespace detail

/// An exact sum of floats of type T in a fixed-point number as wide as the format's range
/// (Kulisch's long accumulator). The result does not depend on the order of the terms. Supports up
/// to 2^63 terms.
template <class T>
requires is_float_storage<T>
class ExactSum {
 public:
  void add(T x);
  /// Adds all `terms`, several times faster than one by one.
  void add(std::span<const T> terms);
  bool empty() const { return empty_; }
  /// As if every term of `other` had been added here.
  void merge(const ExactSum& other);

  /// The sum rounded once, to nearest even. NaN if a term is NaN or infinities of both signs occur;
  /// infinity if a term is, or if the sum overflows R. An exact zero is +0, or -0 if all terms (at
  /// least one) are -0.
  template <class R = T>
  requires is_float_storage<R> R result()
  const { return round<R>(Rounding::NearestEven); }
  /// The sum rounded to a float type given at run time. Throws DTypeError for other types.
  Scalar round_to(DType dtype) const;
  /// The largest double not above the sum, and the least not below it; NaN as in result().
  double round_down() const { return round<double>(Rounding::Down); }
  double round_up() const { return round<double>(Rounding::Up); }

 private:
  using U = std::conditional_t<std::is_same_v<T, double>, double, float>;  // holds T exactly
  using Layout = detail::SumLayout<U>;
  using Bits = std::conditional_t<sizeof(U) == 8, std::uint64_t, std::uint32_t>;
  static constexpr Bits kSign = Bits{1} << (sizeof(U) * 8 - 1);
  // A term changes a digit by less than 2^33, and digits stay below 2^62.
  static constexpr std::uint32_t kTermsPerCarry = 1u << 16;

  template <class R>
  R round(Rounding rounding) const;
  void carry();
  void add_special(U x);
  bool add_in_parts(std::span<const T> terms);
  void add_part(double x);
  UnpackedReal unpacked() const;
  bool touched() const { return room_ != kTermsPerCarry; }

  std::array<std::int64_t, Layout::kDigits> digits_{};
  std::uint32_t room_ = kTermsPerCarry;  // terms until the next carry; this value only initially
  double apart_ = 0;                     // a part of the sum kept outside the digits
  bool empty_ = true;
  Bits not_negative_zero_ = 0;  // nonzero once a term other than -0 was added
  detail::SumSpecials specials_;
};

template <class T>
requires is_float_storage<T>
inline void ExactSum<T>::add(T x) {
  constexpr Bits kMask32 = 0xffffffffu;
  constexpr Bits kMaxExponent = 2 * Bits{Layout::kInfo.max_exponent} + 1;
  const U value = detail::widened<U>(x);
  const Bits bits = std::bit_cast<Bits>(value);
  const Bits exponent = (bits & ~kSign) >> Layout::kFraction;
  if (exponent == kMaxExponent) [[unlikely]]
    return add_special(value);
  const Bits normal = exponent != 0 ? 1 : 0;
  const Bits mantissa =
      (bits & ((Bits{1} << Layout::kFraction) - 1)) | (normal << Layout::kFraction);
  const Bits position = exponent - normal;  // the value is mantissa * 2^(position + least exponent)
  const auto shift = static_cast<int>(position % 32);
  std::int64_t* digit = digits_.data() + position / 32;
  const std::int64_t sign = -static_cast<std::int64_t>(bits >> (sizeof(U) * 8 - 1));  // -1 or 0
  const auto put = [sign](std::int64_t& to, std::uint64_t amount) {
    to += (static_cast<std::int64_t>(amount) ^ sign) - sign;
  };
  const std::uint64_t low = static_cast<std::uint64_t>(mantissa & kMask32) << shift;
  put(digit[0], low & kMask32);
  if constexpr (sizeof(U) == 8) {
    const std::uint64_t high = (mantissa >> 32) << shift;
    put(digit[1], (low >> 32) + (high & kMask32));
    put(digit[2], high >> 32);
  } else {
    put(digit[1], low >> 32);
  }
  not_negative_zero_ |= bits ^ kSign;
  empty_ = false;
  if (--room_ == 0) [[unlikely]]
    carry();
}

template <class T>
requires is_float_storage<T>
template <class R>
R ExactSum<T>::round(Rounding rounding) const {
  const bool both = specials_.positive_infinity && specials_.negative_infinity;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (specials_.nan || both) return convert<R>(std::numeric_limits<float>::quiet_NaN());
  if (specials_.any()) return convert<R>(specials_.positive_infinity ? kInfinity : -kInfinity);
  if constexpr (std::is_floating_point_v<R>)
    if (apart_ != 0 && !touched() && rounding == Rounding::NearestEven)
      return static_cast<R>(apart_);
  UnpackedReal sum = unpacked();
  if (sum.mantissa == 0) sum.negative = !empty_ && not_negative_zero_ == 0;
  return round_once<R>(sum, rounding);
}

extern template class ExactSum<float8_e4m3>;
extern template class ExactSum<float8_e5m2>;
extern template class ExactSum<float16>;
extern template class ExactSum<bfloat16>;
extern template class ExactSum<float>;
extern template class ExactSum<double>;

}  // namespace touchstone
