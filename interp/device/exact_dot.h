#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "touchstone/interp/device/exact_sum.h"

namespace touchstone {

namespace detail {

// A sum of products of doubles: 106 bits each, between 2^-2148 and 2^2048.
class DoubleProducts {
 public:
  void add(double a, double b);
  template <class R>
  R result() const;

 private:
  static constexpr int kLeastExponent = 2 * SumLayout<double>::kLeastExponent;
  static constexpr int kDigits = (2048 - kLeastExponent + 64 + 31) / 32;
  static_assert(kDigits <= kMostDigits);
  static constexpr std::uint32_t kTermsPerCarry = 1u << 16;  // as in ExactSum

  void add_special(double product) {
    if (product != product)
      specials_.nan = true;
    else
      (product > 0 ? specials_.positive_infinity : specials_.negative_infinity) = true;
    empty_ = false;
  }

  std::array<std::int64_t, kDigits> digits_{};
  std::uint32_t room_ = kTermsPerCarry;
  bool empty_ = true;
  bool all_negative_zeros_ = true;
  SumSpecials specials_;
};

inline void DoubleProducts::add(double a, double b) {
  __extension__ using Wide = unsigned __int128;
  constexpr std::uint64_t kMask52 = (std::uint64_t{1} << 52) - 1;
  constexpr std::uint64_t kMask32 = 0xffffffff;
  const auto x = std::bit_cast<std::uint64_t>(a);
  const auto y = std::bit_cast<std::uint64_t>(b);
  const std::uint64_t ex = x >> 52 & 0x7ff;
  const std::uint64_t ey = y >> 52 & 0x7ff;
  if (ex == 0x7ff || ey == 0x7ff) [[unlikely]]
    return add_special(a * b);
  const std::uint64_t nx = ex != 0 ? 1 : 0;
  const std::uint64_t ny = ey != 0 ? 1 : 0;
  const Wide product = static_cast<Wide>((x & kMask52) | nx << 52) * ((y & kMask52) | ny << 52);
  const std::uint64_t position = (ex - nx) + (ey - ny);  // times 2^kLeastExponent
  const auto shift = static_cast<int>(position % 32);
  std::int64_t* digit = digits_.data() + position / 32;
  const std::uint64_t sign_bit = (x ^ y) >> 63;
  const std::int64_t sign = -static_cast<std::int64_t>(sign_bit);  // -1 or 0
  const auto put = [sign](std::int64_t& to, std::uint64_t amount) {
    to += (static_cast<std::int64_t>(amount) ^ sign) - sign;
  };
  const std::uint64_t low = (static_cast<std::uint64_t>(product) & kMask32) << shift;
  const std::uint64_t second = (static_cast<std::uint64_t>(product) >> 32) << shift;
  const auto high = static_cast<std::uint64_t>(product >> 64);  // 42 bits
  const std::uint64_t third = (high & kMask32) << shift;
  const std::uint64_t fourth = (high >> 32) << shift;  // below 2^41
  put(digit[0], low & kMask32);
  put(digit[1], (low >> 32) + (second & kMask32));
  put(digit[2], (second >> 32) + (third & kMask32));
  put(digit[3], (third >> 32) + (fourth & kMask32));
  put(digit[4], fourth >> 32);
  all_negative_zeros_ = all_negative_zeros_ && product == 0 && sign_bit != 0;
  empty_ = false;
  if (--room_ == 0) [[unlikely]] {
    carry_digits(digits_.data(), kDigits);
    room_ = kTermsPerCarry;
  }
}

template <class R>
R DoubleProducts::result() const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (specials_.nan || (specials_.positive_infinity && specials_.negative_infinity))
    return convert<R>(std::numeric_limits<float>::quiet_NaN());
  if (specials_.any()) return convert<R>(specials_.positive_infinity ? kInfinity : -kInfinity);
  UnpackedReal sum = unpack_digits(digits_.data(), kDigits, kLeastExponent);
  if (sum.mantissa == 0) sum.negative = !empty_ && all_negative_zeros_;
  return round_once<R>(sum);
}

}  // namespace detail

/// A sum of products a * b in which neither products nor sums are rounded; rounded once at the end.
/// NaN, infinities and zeros as in ExactSum of the products; products never overflow.
template <class T>
requires is_float_storage<T>
class ExactDot {
 public:
  void add(T a, T b) {
    if constexpr (std::is_same_v<T, double>)
      sum_.add(a, b);
    else
      sum_.add(detail::widened<Product>(a) * detail::widened<Product>(b));
  }
  template <class R = T>
  requires is_float_storage<R> R result()
  const { return sum_.template result<R>(); }

 private:
  // Represents products exactly: 48 bits from 2^-298 to 2^256 for float, 22 from 2^-48 to 2^32 for
  // float16; fewer for bfloat16, but with float's range.
  using Product = std::conditional_t<sizeof(T) == 1 || std::is_same_v<T, float16>, float, double>;
  std::conditional_t<std::is_same_v<T, double>, detail::DoubleProducts, ExactSum<Product>> sum_;
};

}  // namespace touchstone
