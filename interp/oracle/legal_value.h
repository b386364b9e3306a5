#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include "touchstone/interp/device/scalar_named.h"
#include "touchstone/interp/device/scalar_ops.h"

// The legal results for one element: an interval of values, NaN, or anything.

namespace touchstone::interp {

/// Order-preserving map of values to integers; neighbours differ by 1, -0 is just below +0.
template <class T>
constexpr std::int64_t order_key(T x) {
  if constexpr (is_float_storage<T>) {
    using Bits = scalar::detail::FloatBits<T>;
    const auto bits = static_cast<std::uint64_t>(std::bit_cast<Bits>(x));
    constexpr std::uint64_t kMagnitude = (std::uint64_t{1} << (sizeof(T) * 8 - 1)) - 1;
    const auto magnitude = static_cast<std::int64_t>(bits & kMagnitude);
    return (bits & ~kMagnitude) != 0 ? -1 - magnitude : magnitude;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return static_cast<std::int64_t>(x ^ (std::uint64_t{1} << 63));
  } else {
    return static_cast<std::int64_t>(x);
  }
}

template <class T>
requires is_float_storage<T>
constexpr T from_order_key(std::int64_t key) {
  using Bits = scalar::detail::FloatBits<T>;
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (sizeof(T) * 8 - 1));
  return key >= 0 ? std::bit_cast<T>(static_cast<Bits>(key))
                  : std::bit_cast<T>(static_cast<Bits>(kSign | static_cast<Bits>(-1 - key)));
}

template <class T>
constexpr bool key_less(T a, T b) {
  return order_key(a) < order_key(b);
}

template <class T>
constexpr bool is_nan_value(T x) {
  if constexpr (is_float_storage<T>) {
    const auto v = scalar::detail::computing(x);
    return v != v;
  } else {
    return false;
  }
}

template <class T>
constexpr bool is_zero_value(T x) {
  return scalar::cmpeq(x, T{});
}

/// Infinity, or the largest number of a type without infinities.
template <class T>
constexpr T infinity(bool negative = false) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return convert<T>(negative ? -kInfinity : kInfinity);
}

template <class T>
constexpr bool is_infinite(T x) {
  if constexpr (is_float_storage<T> && has_infinities<T>)
    return std::bit_cast<scalar::detail::FloatBits<T>>(x) ==
               std::bit_cast<scalar::detail::FloatBits<T>>(infinity<T>()) ||
           std::bit_cast<scalar::detail::FloatBits<T>>(x) ==
               std::bit_cast<scalar::detail::FloatBits<T>>(infinity<T>(true));
  else
    return false;
}

/// The legal results of one element: the numbers in [lo, hi] if `number`, NaN if `nan`, and every
/// bit pattern if `any` (the reference leaves the value open).
template <class T>
struct Legal {
  T lo{};
  T hi{};
  bool number = false;
  bool nan = false;
  bool any = false;
  /// lo < 0 < hi, and no legal number is less than a quarter as large as the nearer of them: both
  /// signs of one size, as 1/0 of a zero of unknown sign.
  bool apart = false;

  static Legal point(T x) {
    return is_nan_value(x) ? Legal{{}, {}, false, true, false} : Legal{x, x, true, false, false};
  }
  static Legal range(T lo, T hi, bool nan = false) { return {lo, hi, true, nan, false}; }
  /// All of these.
  static Legal one_of(std::initializer_list<Legal> all) {
    Legal out;
    for (const Legal& x : all) out.include(x);
    if constexpr (is_float_storage<T>) {
      constexpr double kAlike = 0.9;  // which a few roundings do not make a quarter
      out.apart =
          out.has_zero() && std::ranges::all_of(all, [&](const Legal& x) {
            return !x.number || ((x.apart || !x.has_zero()) && !out.is_between(x.lo, kAlike) &&
                                 !out.is_between(x.hi, kAlike));
          });
    }
    return out;
  }
  static Legal only_nan() { return {{}, {}, false, true, false}; }
  static Legal anything() { return {{}, {}, false, false, true}; }
  /// Every number and NaN: no claim about a float.
  static Legal unknown() {
    if constexpr (is_float_storage<T>)
      return range(infinity<T>(true), infinity<T>(), true);
    else
      return anything();
  }

  bool is_point() const { return number && !nan && !any && order_key(lo) == order_key(hi); }
  bool is_nan_only() const { return nan && !number && !any; }
  /// True for a single legal result, up to the bits of a NaN.
  bool determined() const { return is_point() || is_nan_only(); }

  void include(T x) {
    if (is_nan_value(x)) {
      nan = true;
      return;
    }
    apart = false;
    if (!number) {
      lo = hi = x;
      number = true;
    } else {
      if (key_less(x, lo)) lo = x;
      if (key_less(hi, x)) hi = x;
    }
  }
  void include(const Legal& other) {
    any = any || other.any;
    nan = nan || other.nan;
    if (!other.number) return;
    include(other.lo);
    include(other.hi);
  }

  bool accepts(T x) const {
    if (any) return true;
    if (is_nan_value(x)) return nan;
    if (!number || key_less(x, lo) || key_less(hi, x)) return false;
    if constexpr (is_float_storage<T>) return !apart || !is_between(x);
    return true;
  }
  /// True if x has less than this share of the magnitude of either end.
  bool is_between(T x, double share = 0.25) const requires is_float_storage<T> {
    const auto size = [](T v) {
      return std::abs(static_cast<double>(scalar::detail::computing(v)));
    };
    return size(x) < share * std::min(size(lo), size(hi));
  }
  /// True for a finite x beside which all larger numbers, or NaN, are legal, too.
  bool is_open_at(T x) const {
    if constexpr (!is_float_storage<T>) {
      return any;
    } else {
      if (is_nan_value(x) || is_infinite(x)) return false;
      const bool negative = scalar::cmplt(x, T{});
      const std::int64_t inside = is_infinite(infinity<T>()) ? 1 : 0;
      const T most =
          from_order_key<T>(order_key(infinity<T>(negative)) + (negative ? inside : -inside));
      return any || nan || accepts(most);
    }
  }
  bool has_zero() const { return number && !scalar::cmplt(T{}, lo) && !scalar::cmplt(hi, T{}); }
  /// True if the numbers are zeros, of either sign.
  bool is_zero() const { return number && is_zero_value(lo) && is_zero_value(hi); }
  bool has_infinity() const { return number && (is_infinite(lo) || is_infinite(hi)); }
  /// True if no legal number is finite: an infinity of one sign, or `apart` of either.
  bool is_infinity() const {
    return number && !any && is_infinite(lo) && is_infinite(hi) &&
           (apart || order_key(lo) == order_key(hi));
  }
  /// The same where it is known that no legal number is finite: not those between two infinities.
  Legal only_infinity() const {
    Legal out = *this;
    out.apart = number && is_infinite(lo) && is_infinite(hi) && order_key(lo) != order_key(hi);
    return out;
  }
  /// Number of representable values from lo to hi, minus one: 0 for a single result.
  std::uint64_t width() const {
    if (any) return std::numeric_limits<std::uint64_t>::max();
    if (!number) return 0;
    return static_cast<std::uint64_t>(order_key(hi)) - static_cast<std::uint64_t>(order_key(lo));
  }
};

/// The interval without infinite ends, unless it is a single infinity.
template <class T>
Legal<T> finite_part(Legal<T> a) {
  a.apart = false;
  if (key_less(a.lo, a.hi) && is_infinite(a.lo)) a.lo = from_order_key<T>(order_key(a.lo) + 1);
  if (key_less(a.lo, a.hi) && is_infinite(a.hi)) a.hi = from_order_key<T>(order_key(a.hi) - 1);
  return a;
}

}  // namespace touchstone::interp
