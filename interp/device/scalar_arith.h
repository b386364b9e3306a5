#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "touchstone/dtype/convert.h"
#include "touchstone/dtype/storage.h"

// The reference result for one element, over the storage types of lib/dtype: arithmetic,
// comparison, choice. The including unit needs -ffp-contract=off, the default rounding mode, and no
// flush-to-zero.

namespace touchstone::scalar {

namespace detail {

// Integers compute in this type: wide enough not to be promoted to int, unsigned so that they wrap.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
constexpr Wrapping<T> wrapping(T x) {
  return static_cast<Wrapping<T>>(x);
}

// Floats compute in this type. Narrow ones use float: 24 >= 2 * 11 + 2 digits make the second
// rounding of + - * / sqrt harmless (Figueroa 1995). This includes bfloat16's subnormals, which are
// also float's: an 8-digit product or quotient that float would round there is below half the least
// bfloat16 or at least 2^-142 away from a tie.
template <class T>
using Computing = std::conditional_t<is_narrow_float<T>, float, T>;

template <class T>
constexpr Computing<T> computing(T x) {
  return convert<Computing<T>>(x);
}

template <class T>
using FloatBits = BitsOf<T>;

template <class T>
constexpr T quiet_nan() {
  return convert<T>(std::numeric_limits<float>::quiet_NaN());
}

}  // namespace detail

/// Floats: flips the sign bit, also of 0 and NaN. Integers wrap. bool: logical not.
template <class T>
constexpr T neg(T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return !x;
  } else if constexpr (is_float_storage<T>) {
    using Bits = detail::FloatBits<T>;
    constexpr auto kSign = static_cast<Bits>(Bits{1} << (sizeof(T) * 8 - 1));
    return std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(x) ^ kSign));
  } else {
    return static_cast<T>(detail::Wrapping<T>{0} - detail::wrapping(x));
  }
}

/// Floats round once. Integers wrap. bool: or.
template <class T>
constexpr T add(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a || b;
  else if constexpr (is_float_storage<T>)
    return convert<T>(detail::computing(a) + detail::computing(b));
  else
    return static_cast<T>(detail::wrapping(a) + detail::wrapping(b));
}

/// Floats round once. Integers wrap. bool: exclusive or.
template <class T>
constexpr T sub(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a != b;
  else if constexpr (is_float_storage<T>)
    return convert<T>(detail::computing(a) - detail::computing(b));
  else
    return static_cast<T>(detail::wrapping(a) - detail::wrapping(b));
}

/// Floats round once. Integers wrap. bool: and.
template <class T>
constexpr T mul(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a && b;
  else if constexpr (is_float_storage<T>)
    return convert<T>(detail::computing(a) * detail::computing(b));
  else
    return static_cast<T>(detail::wrapping(a) * detail::wrapping(b));
}

/// True where div and mod of integers and bool are undefined (b = 0, or least / -1): a backend may
/// return anything; the results here are arbitrary. Never for floats.
template <class T>
constexpr bool div_is_poison(T a, T b) {
  if constexpr (is_float_storage<T>)
    return false;
  else if constexpr (std::is_signed_v<T>)
    return b == 0 || (b == -1 && a == std::numeric_limits<T>::min());
  else
    return b == T{0};
}

/// Floats: IEEE 754. Integers truncate towards zero; x / 0 is 0, least / -1 wraps. bool: a and b.
template <class T>
constexpr T div(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else if constexpr (is_float_storage<T>) {
    return convert<T>(detail::computing(a) / detail::computing(b));
  } else {
    if (div_is_poison(a, b)) return b == T{0} ? T{0} : neg(a);
    return static_cast<T>(a / b);
  }
}

/// Floats: fmod, exact, with the sign of a. Integers: a - div(a, b) * b, with the sign of a; 0 for
/// poison. bool: false.
template <class T>
inline T mod(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return false;
  else if constexpr (is_float_storage<T>)
    return convert<T>(std::fmod(detail::computing(a), detail::computing(b)));
  else
    return div_is_poison(a, b) ? T{0} : static_cast<T>(a % b);
}

/// The larger. Floats: NaN if either is NaN; +0 is larger than -0. bool: or.
template <class T>
constexpr T max(T a, T b) {
  if constexpr (is_float_storage<T>) {
    const auto x = detail::computing(a);
    const auto y = detail::computing(b);
    if (x > y) return a;
    if (y > x) return b;
    if (x != y) return detail::quiet_nan<T>();
    // Equal: the same bits, or two zeros; the common bits are those of +0 if either is.
    using Bits = detail::FloatBits<T>;
    return std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(a) & std::bit_cast<Bits>(b)));
  } else {
    return a < b ? b : a;
  }
}

/// a < b; false with NaN.
template <class T>
constexpr bool cmplt(T a, T b) {
  if constexpr (is_float_storage<T>)
    return detail::computing(a) < detail::computing(b);
  else
    return a < b;
}

/// a == b as values: false with NaN, true for -0 and +0.
template <class T>
constexpr bool cmpeq(T a, T b) {
  if constexpr (is_float_storage<T>)
    return detail::computing(a) == detail::computing(b);
  else
    return a == b;
}

/// Exclusive or of the bits; integers and bool.
template <class T>
requires(!is_float_storage<T>) constexpr T xor_(T a, T b) { return static_cast<T>(a ^ b); }

/// 1 / x, rounded once; 1 / +-0 = +-inf.
template <class T>
requires is_float_storage<T>
constexpr T recip(T x) { return convert<T>(detail::Computing<T>{1} / detail::computing(x)); }

/// Rounded once; sqrt(-0) = -0, NaN for negative numbers.
template <class T>
requires is_float_storage<T>
inline T sqrt(T x) { return convert<T>(std::sqrt(detail::computing(x))); }

/// mul, then add: two roundings. A fused result is also legal, but not returned.
template <class T>
constexpr T mulacc(T a, T b, T c) {
  return add(mul(a, b), c);
}

/// The arm not taken has no effect.
template <class T>
constexpr T where(bool condition, T a, T b) {
  return condition ? a : b;
}

}  // namespace touchstone::scalar
