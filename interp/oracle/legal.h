#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "touchstone/interp/device/scalar_named.h"
#include "touchstone/interp/device/scalar_ops.h"
#include "touchstone/interp/oracle/legal_value.h"

// Operations on the legal results for one element. Every legal operation is monotone and correctly
// rounded, or within a declared number of ULP, so intervals map by their corners (docs/oracle.md
// has the rules).

namespace touchstone::interp {

/// f at the corners of two intervals; sound if f is monotone in each operand on them.
template <class R, class T, class F>
Legal<R> corners(const Legal<T>& a, const Legal<T>& b, F f) {
  if (a.is_nan_only() || b.is_nan_only()) return Legal<R>::only_nan();
  if (a.any || b.any) return Legal<R>::anything();
  Legal<R> out;
  out.nan = a.nan || b.nan;
  if (!a.number || !b.number) return out;
  for (const T x : {a.lo, a.hi})
    for (const T y : {b.lo, b.hi}) out.include(f(x, y));
  if constexpr (is_float_storage<T>) {
    if (!out.nan || !(a.has_infinity() || b.has_infinity()) || a.is_infinity() || b.is_infinity())
      return out;
    // A NaN from 0 times infinity hides the results of the neighbours of infinity.
    const Legal<T> within_a = finite_part(a), within_b = finite_part(b);
    for (const T x : {within_a.lo, within_a.hi})
      for (const T y : {b.lo, b.hi}) out.include(f(x, y));
    for (const T x : {a.lo, a.hi})
      for (const T y : {within_b.lo, within_b.hi}) out.include(f(x, y));
  }
  return out;
}

namespace legal {

__extension__ using Wide = __int128;

// Integers: exact in 128 bits, or no claim if the operation wraps for some operands.
template <class T, class F>
Legal<T> integer(const Legal<T>& a, const Legal<T>& b, F f) {
  if (a.any || b.any) return Legal<T>::anything();
  Wide low = 0, high = 0;
  bool first = true;
  for (const T x : {a.lo, a.hi})
    for (const T y : {b.lo, b.hi}) {
      const Wide v = f(static_cast<Wide>(x), static_cast<Wide>(y));
      low = first ? v : std::min(low, v);
      high = first ? v : std::max(high, v);
      first = false;
    }
  if (low < static_cast<Wide>(std::numeric_limits<T>::min()) ||
      high > static_cast<Wide>(std::numeric_limits<T>::max()))
    return Legal<T>::anything();
  return Legal<T>::range(static_cast<T>(low), static_cast<T>(high));
}

// bool: all four cases.
template <class F>
Legal<bool> each_bool(const Legal<bool>& a, const Legal<bool>& b, F f) {
  if (a.any || b.any) return Legal<bool>::range(false, true);
  return corners<bool>(a, b, f);
}

// A sum, difference or product where a or b is infinite is infinite or NaN.
template <class T>
Legal<T> beside_infinity(const Legal<T>& a, const Legal<T>& b, const Legal<T>& result) {
  return a.is_infinity() || b.is_infinity() ? result.only_infinity() : result;
}

template <class T>
Legal<T> neg(const Legal<T>& a) {
  if (a.any) return a;
  Legal<T> out;
  out.nan = a.nan;
  if (!a.number) return out;
  if constexpr (std::is_signed_v<T> && !is_float_storage<T>)
    if (a.lo == std::numeric_limits<T>::min() && !a.is_point()) return Legal<T>::anything();
  if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>)
    if (!a.is_point()) return Legal<T>::anything();
  out.include(scalar::neg(a.lo));
  out.include(scalar::neg(a.hi));
  out.apart = a.apart;
  return out;
}

template <class T>
Legal<T> add(const Legal<T>& a, const Legal<T>& b) {
  if (a.is_point() && b.is_point()) return Legal<T>::point(scalar::add(a.lo, b.lo));
  if constexpr (std::is_same_v<T, bool>)
    return each_bool(a, b, scalar::add<bool>);
  else if constexpr (is_float_storage<T>)
    return beside_infinity(a, b, corners<T>(a, b, scalar::add<T>));
  else
    return integer(a, b, [](auto x, auto y) { return x + y; });
}

template <class T>
Legal<T> sub(const Legal<T>& a, const Legal<T>& b) {
  if (a.is_point() && b.is_point()) return Legal<T>::point(scalar::sub(a.lo, b.lo));
  if constexpr (std::is_same_v<T, bool>)
    return each_bool(a, b, scalar::sub<bool>);
  else if constexpr (is_float_storage<T>)
    return beside_infinity(a, b, corners<T>(a, b, scalar::sub<T>));
  else
    return integer(a, b, [](auto x, auto y) { return x - y; });
}

template <class T>
Legal<T> mul(const Legal<T>& a, const Legal<T>& b) {
  if (a.is_point() && b.is_point()) return Legal<T>::point(scalar::mul(a.lo, b.lo));
  if constexpr (std::is_same_v<T, bool>) {
    return each_bool(a, b, scalar::mul<bool>);
  } else if constexpr (is_float_storage<T>) {
    Legal<T> out = corners<T>(a, b, scalar::mul<T>);
    // 0 times infinity may lie inside the box, not at a corner.
    if ((a.has_zero() && b.has_infinity()) || (b.has_zero() && a.has_infinity())) out.nan = true;
    return beside_infinity(a, b, out);
  } else {
    if constexpr (std::is_same_v<T, std::uint64_t>)  // the product may exceed 127 bits
      if ((a.hi >> 63) != 0 || (b.hi >> 63) != 0) return Legal<T>::anything();
    return integer(a, b, [](auto x, auto y) { return x * y; });
  }
}

/// The least T not below x, and the greatest not above it.
template <class T>
requires is_float_storage<T>
inline T not_below(double x) {
  const T near = convert<T>(x);
  if (is_infinite(near) || !(static_cast<double>(scalar::detail::computing(near)) < x)) return near;
  return from_order_key<T>(order_key(near) + 1);
}
template <class T>
requires is_float_storage<T>
inline T not_above(double x) {
  const T near = convert<T>(x);
  if (is_infinite(near) || !(static_cast<double>(scalar::detail::computing(near)) > x)) return near;
  return from_order_key<T>(order_key(near) - 1);
}

/// True if rounding changes nothing: p, the rounded x * y, is exact, zero or not finite.
template <class T>
requires is_float_storage<T>
inline bool is_exact_product(T x, T y, T p) {
  const auto u = scalar::detail::computing(x), v = scalar::detail::computing(y);
  const auto w = scalar::detail::computing(p);
  if (u == 0 || v == 0 || !std::isfinite(u) || !std::isfinite(v)) return true;
  if constexpr (std::is_same_v<T, double>)
    // The remainder is representable unless it underflows.
    return std::isfinite(w) && std::abs(w) >= 0x1p-960 && std::fma(u, v, -w) == 0;
  else
    return static_cast<double>(u) * static_cast<double>(v) == static_cast<double>(w);
}

/// Extends both ends by `ulp` representable values, up to the infinities.
template <class T>
Legal<T> widened(Legal<T> a, std::int64_t ulp) {
  if (!a.number) return a;
  a.apart = a.apart && ulp <= 8 && info(dtype_v<T>).digits >= 8;
  const std::int64_t least = order_key(infinity<T>(true)), most = order_key(infinity<T>());
  std::int64_t low = 0, high = 0;  // a step may overflow 64 bits
  low = __builtin_sub_overflow(order_key(a.lo), ulp, &low) ? least : std::max(least, low);
  high = __builtin_add_overflow(order_key(a.hi), ulp, &high) ? most : std::min(most, high);
  a.lo = from_order_key<T>(low);
  a.hi = from_order_key<T>(high);
  return a;
}

/// Of a number that cannot be negative, such as a square.
template <class T>
Legal<T> not_negative(Legal<T> a) {
  if constexpr (is_float_storage<T>)
    if (a.number && !a.any && scalar::cmplt(a.lo, T{})) {
      a.lo = a.is_infinity() ? a.hi : scalar::neg(T{});
      a.apart = false;
    }
  return a;
}

template <class T>
Legal<T> div(const Legal<T>& a, const Legal<T>& b) {
  if (a.is_point() && b.is_point())
    return scalar::div_is_poison(a.lo, b.lo) ? Legal<T>::anything()
                                             : Legal<T>::point(scalar::div(a.lo, b.lo));
  if constexpr (is_float_storage<T>) {
    if (a.any || b.any) return Legal<T>::anything();
    if (b.is_zero() && a.number && !a.nan && !b.nan && !a.has_zero()) {
      const auto at = [&](T y) { return Legal<T>::point(scalar::div(a.lo, y)); };
      return Legal<T>::one_of({at(b.lo), at(b.hi)});
    }
    if (b.is_infinity()) {  // a zero, or NaN of infinities
      Legal<T> out =
          a.number && !a.is_infinity() ? Legal<T>::range(scalar::neg(T{}), T{}) : Legal<T>();
      out.nan = a.nan || b.nan || a.has_infinity();
      return !b.apart && out.number && !a.has_infinity() ? corners<T>(a, b, scalar::div<T>) : out;
    }
    if (b.has_zero() && a.is_infinity()) {
      Legal<T> out = Legal<T>::range(infinity<T>(true), infinity<T>()).only_infinity();
      out.nan = a.nan || b.nan || b.has_infinity();
      return out;
    }
    if (b.has_zero() && a.is_zero())  // 0 / 0, of either sign, is NaN
      return b.is_zero() ? Legal<T>::only_nan() : Legal<T>::range(scalar::neg(T{}), T{}, true);
    if (b.has_zero()) return a.number ? Legal<T>::unknown() : Legal<T>::only_nan();
    const Legal<T> quotient = corners<T>(a, b, scalar::div<T>);
    return a.is_infinity() ? quotient.only_infinity() : quotient;
  } else {
    return Legal<T>::anything();
  }
}

template <class T>
Legal<T> mod(const Legal<T>& a, const Legal<T>& b) {
  if (a.is_point() && b.is_point())
    return scalar::div_is_poison(a.lo, b.lo) ? Legal<T>::anything()
                                             : Legal<T>::point(scalar::mod(a.lo, b.lo));
  if (a.is_nan_only() || b.is_nan_only()) return Legal<T>::only_nan();
  if (a.any || b.any) return Legal<T>::anything();
  if (is_float_storage<T> && b.is_zero()) return Legal<T>::only_nan();
  return Legal<T>::unknown();
}

template <class T>
Legal<T> max(const Legal<T>& a, const Legal<T>& b) {
  if (a.any || b.any) return Legal<T>::anything();
  Legal<T> out;
  out.nan = a.nan || b.nan;
  if (!a.number || !b.number) return out;
  out.include(scalar::max(a.lo, b.lo));
  out.include(scalar::max(a.hi, b.hi));
  return out;
}

template <class T>
Legal<T> xor_(const Legal<T>& a, const Legal<T>& b) {
  if (a.is_point() && b.is_point()) return Legal<T>::point(scalar::xor_(a.lo, b.lo));
  if constexpr (std::is_same_v<T, bool>)
    return each_bool(a, b, scalar::xor_<bool>);
  else
    return Legal<T>::anything();
}

inline Legal<bool> verdicts(bool can_be_true, bool can_be_false) {
  return Legal<bool>::range(!can_be_false, can_be_true);
}

template <class T>
Legal<bool> cmplt(const Legal<T>& a, const Legal<T>& b) {
  if (a.any || b.any) return verdicts(true, true);
  bool yes = false, no = a.nan || b.nan;
  if (a.number && b.number) {
    yes = scalar::cmplt(a.lo, b.hi);
    no = no || !scalar::cmplt(a.hi, b.lo);
  }
  return verdicts(yes, no);
}

template <class T>
Legal<bool> cmpeq(const Legal<T>& a, const Legal<T>& b) {
  if (a.any || b.any) return verdicts(true, true);
  bool yes = false, no = a.nan || b.nan;
  if (a.number && b.number) {
    yes = !scalar::cmplt(a.hi, b.lo) && !scalar::cmplt(b.hi, a.lo);
    no = no ||
         !(scalar::cmpeq(a.lo, a.hi) && scalar::cmpeq(b.lo, b.hi) && scalar::cmpeq(a.lo, b.lo));
  }
  return verdicts(yes, no);
}

template <class T>
Legal<T> where(const Legal<bool>& condition, const Legal<T>& a, const Legal<T>& b) {
  if (condition.any) return Legal<T>::anything();
  const bool either = condition.lo != condition.hi;
  if (!either) return condition.lo ? a : b;
  Legal<T> out = a;
  out.include(b);
  return out;
}

/// Multiply-add with two roundings or one.
template <class T>
Legal<T> mulacc(const Legal<T>& a, const Legal<T>& b, const Legal<T>& c) {
  Legal<T> out = add(mul(a, b), c);
  if constexpr (is_float_storage<T>) {
    if (!a.number || !b.number || !c.number) return out;
    for (const T x : {a.lo, a.hi})
      for (const T y : {b.lo, b.hi})
        for (const T z : {c.lo, c.hi}) out.include(scalar::fma(x, y, z));
    if (a.is_infinity() || b.is_infinity() || c.is_infinity()) return out.only_infinity();
  }
  return out;
}

template <class T>
Legal<T> sqrt(const Legal<T>& a) {
  if (a.any) return a;
  Legal<T> out;
  out.nan = a.nan || (a.number && scalar::cmplt(a.lo, T{}));
  if (!a.number || scalar::cmplt(a.hi, T{})) return out;
  if (a.is_infinity()) return Legal<T>::range(a.hi, a.hi, out.nan);
  const T from = scalar::cmplt(a.lo, T{}) ? scalar::neg(T{}) : a.lo;
  return Legal<T>::range(scalar::sqrt(from), scalar::sqrt(a.hi), out.nan);
}

template <class T>
Legal<T> recip(const Legal<T>& a) {
  return div(Legal<T>::point(convert<T>(1.0F)), a);
}

/// EXP2 with `ulp_low` and `ulp_high` as errors at the ends of the argument, in representable
/// values.
template <class T>
Legal<T> exp2(const Legal<T>& a, std::int64_t ulp_low, std::int64_t ulp_high) {
  if (a.any || !a.number) return a;
  const auto at = [](const T& x, std::int64_t ulp) {
    const Legal<T> value = Legal<T>::point(scalar::exp2(x));
    return is_infinite(x) ? value : widened(value, ulp);
  };
  const Legal<T> low = at(a.lo, ulp_low);
  Legal<T> out = Legal<T>::range(low.lo, a.is_point() ? low.hi : at(a.hi, ulp_high).hi, a.nan);
  if (key_less(out.lo, T{})) out.lo = T{};
  // Beyond twice the largest number, an error of so few ULP cannot lead back to it.
  constexpr DTypeInfo kInfo = info(dtype_v<T>);
  if (scalar::detail::computing(a.lo) >= kInfo.max_exponent + 2 &&
      ulp_low < std::int64_t{1} << (kInfo.digits - 2))
    out.lo = infinity<T>();
  return out;
}
template <class T>
Legal<T> exp2(const Legal<T>& a, std::int64_t ulp) {
  return exp2(a, ulp, ulp);
}

template <class T>
Legal<T> log2(const Legal<T>& a, std::int64_t ulp) {
  if (a.any || !a.number) return a;
  const bool nan = a.nan || scalar::cmplt(a.lo, T{});
  if (scalar::cmplt(a.hi, T{})) return Legal<T>::only_nan();
  const T from = scalar::cmplt(a.lo, T{}) ? T{} : a.lo;
  const T low = scalar::log2(from);
  Legal<T> out = Legal<T>::range(low, a.is_point() ? low : scalar::log2(a.hi), nan);
  if (a.is_point() && is_zero_value(low))  // of either sign if there is an error
    return ulp == 0 ? out : Legal<T>::range(scalar::neg(T{}), T{}, nan);
  const bool exact = order_key(out.lo) == order_key(out.hi) && is_infinite(out.lo);
  return exact ? out : widened(out, ulp);
}

template <class T>
Legal<T> sin(const Legal<T>& a, std::int64_t ulp, double absolute, double domain) {
  if (a.any || !a.number) return a;
  const auto within = [domain](T x) {
    return std::abs(static_cast<double>(scalar::detail::computing(x))) <= domain;
  };
  if (!std::isinf(domain) && !(within(a.lo) && within(a.hi))) return Legal<T>::unknown();
  const T one = convert<T>(1.0F), minus_one = convert<T>(-1.0F);
  const bool nan = a.nan || a.has_infinity();
  if (a.is_point()) {
    if (is_infinite(a.lo)) return Legal<T>::only_nan();
  }
  if (absolute == 0 && is_zero_value(a.lo) && is_zero_value(a.hi)) return a;
  Legal<T> out = Legal<T>::range(minus_one, one, nan);
  const double lo = static_cast<double>(scalar::detail::computing(a.lo));
  const double width = static_cast<double>(scalar::detail::computing(a.hi)) - lo;
  if (width < 1.0) {  // |sin x - sin y| <= |x - y|
    const T rounded = scalar::sin(a.lo);
    const auto beside = [&](std::int64_t by) {  // the true value lies between these
      return static_cast<double>(
          scalar::detail::computing(from_order_key<T>(order_key(rounded) + by)));
    };
    const double reach = width * (1 + 0x1p-50) + absolute;
    out = width == 0 && absolute == 0
              ? Legal<T>::point(rounded)
              : Legal<T>::range(convert<T>(beside(-1) - reach), convert<T>(beside(1) + reach), nan);
    out.nan = nan;
    out = widened(out, ulp + (reach == 0 ? 0 : 1));
    if (key_less(out.lo, minus_one)) out.lo = minus_one;
    if (key_less(one, out.hi)) out.hi = one;
  }
  return out;
}

template <class To, class From>
Legal<To> cast(const Legal<From>& a) {
  if (a.any) {
    if constexpr (std::is_same_v<To, bool>)
      return verdicts(true, true);
    else
      return Legal<To>::anything();
  }
  if constexpr (std::is_same_v<To, bool>) {
    const bool can_be_zero = a.has_zero();
    const bool other = a.nan || (a.number && !a.is_zero());
    return verdicts(other, can_be_zero);
  } else {
    if constexpr (is_integer_storage<From> && is_integer_storage<To>) {
      if (a.is_point()) return Legal<To>::point(convert<To>(a.lo));
      if (!std::in_range<To>(a.lo) || !std::in_range<To>(a.hi)) return Legal<To>::anything();
      return Legal<To>::range(convert<To>(a.lo), convert<To>(a.hi));
    } else {
      Legal<To> out;
      if constexpr (is_float_storage<To>)
        out.nan = a.nan;
      else if (a.nan)
        out.include(To{0});
      if (a.number) {
        out.include(convert<To>(a.lo));
        out.include(convert<To>(a.hi));
        out.apart = a.apart && is_float_storage<To>;
      }
      return out;
    }
  }
}

/// True if a function of this operand is exact in every implementation: a zero or an infinity, or
/// NaN.
template <class T>
bool is_special(const Legal<T>& a) {
  return !a.any && (a.is_zero() || a.is_infinity());
}

/// Adds a zero of its sign for each subnormal in the interval.
template <class T>
requires is_float_storage<T> Legal<T> flushed(Legal<T> a) {
  if (!a.number) return a;
  constexpr std::int64_t kMostSubnormal = (std::int64_t{1} << (info(dtype_v<T>).digits - 1)) - 1;
  const std::int64_t lo = order_key(a.lo), hi = order_key(a.hi);
  if (lo > 0 && lo <= kMostSubnormal) a.lo = T{};
  if (hi < -1 && hi >= -1 - kMostSubnormal) a.hi = scalar::neg(T{});
  return a;
}

/// Moves each end outwards to a number of at most `digits` significant bits: the operands of a unit
/// that truncates or rounds them.
template <class T>
requires is_float_storage<T> Legal<T> shortened(Legal<T> a, int digits) {
  const int drop = info(dtype_v<T>).digits - digits;
  if (!a.number || digits == 0 || drop <= 0) return a;
  const std::int64_t step = std::int64_t{1} << drop;
  const auto outwards = [step](T x, bool up) {
    if (is_infinite(x)) return x;
    const std::int64_t key = order_key(x);
    const bool negative = key < 0;
    const std::int64_t magnitude = negative ? -1 - key : key;
    std::int64_t cut = magnitude / step * step;
    if (cut != magnitude && up != negative) cut += step;
    return from_order_key<T>(negative ? -1 - cut : cut);
  };
  a.lo = outwards(a.lo, false);
  a.hi = outwards(a.hi, true);
  return a;
}

/// MAX of NaN and a number under profiles in which NaN need not win.
template <class T>
requires is_float_storage<T> Legal<T> max_of_nan(const Legal<T>& a, const Legal<T>& b,
                                                 bool number_wins) {
  Legal<T> out = max(a, b);
  if (a.any || b.any || (!a.nan && !b.nan)) return out;
  if (a.nan && b.number) out.include(b);
  if (b.nan && a.number) out.include(a);
  if (number_wins) out.nan = a.nan && b.nan;
  return out;
}

}  // namespace legal
}  // namespace touchstone::interp
