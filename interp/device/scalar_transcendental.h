#pragma once

#include <cfloat>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "touchstone/dtype/convert.h"
#include "touchstone/dtype/rounding.h"
#include "touchstone/dtype/storage.h"
#include "touchstone/interp/device/scalar_arith.h"
#include "touchstone/interp/device/scalar_exact.h"

// EXP2, LOG2 and SIN, correctly rounded: libm in a wider format, then a test if its error could
// change the rounding (Ziv 1991), and MPFR if it could.

namespace touchstone::scalar {

namespace detail {

// The type of the libm call: double for the narrow ones, long double for double.
template <class T>
using Wider = std::conditional_t<std::is_same_v<T, double>, long double, double>;

// Assumed bounds on libm's relative error. Over millions of samples glibc 2.36 on x86-64 stays
// below 1.1 * 2^-53 in double and 2 * 2^-64 in long double; the bounds are 8 and 6.
template <class T>
inline constexpr Wider<T> kLibmError =
    std::is_same_v<T, double> ? Wider<T>{0x1.8p-62L} : Wider<T>{0x1p-50};

// Other formats of long double are untested: some are no wider than double, and some C libraries
// compute in double whatever the format. There every double goes to MPFR.
template <class T>
inline constexpr bool kHasWider = !std::is_same_v<T, double> || LDBL_MANT_DIG == 64;

template <class T>
inline T from_wider(Wider<T> y) {
  if constexpr (is_narrow_float<T>)
    return convert<T>(y);
  else
    return static_cast<T>(y);
}

// y rounded to T; nullopt if a value within the error bound of the finite y rounds differently.
template <class T>
inline std::optional<T> clear_rounding(Wider<T> y) {
  const Wider<T> error = std::abs(y) * kLibmError<T>;
  if (!(from_wider<T>(y - error) == from_wider<T>(y + error))) return std::nullopt;
  return from_wider<T>(y);
}

template <class T, class Libm, class Exact>
inline T rounded(T x, Libm libm, Exact exact) {
  if constexpr (kHasWider<T>)
    if (const auto y = clear_rounding<T>(libm(Wider<T>{convert<double>(x)}))) return *y;
  return round_once<T>(exact(convert<double>(x)));
}

}  // namespace detail

/// 2^x. 2^k is exact for every integer k in range; 2^-inf = +0.
template <class T>
requires is_float_storage<T>
inline T exp2(T x) {
  constexpr DTypeInfo kInfo = info(dtype_v<T>);
  const auto v = detail::computing(x);
  if (v != v) return detail::quiet_nan<T>();
  if (v >= kInfo.max_exponent + 1) return convert<T>(std::numeric_limits<float>::infinity());
  // At most half the least subnormal; the tie goes to even.
  if (v <= kInfo.min_exponent - kInfo.digits) return convert<T>(0.0f);
  return detail::rounded<T>(
      x, [](auto y) { return std::exp2(y); }, exact_exp2);
}

/// log2(x). log2(2^k) = k exactly; log2(+-0) = -inf; log2(x < 0) = NaN.
template <class T>
requires is_float_storage<T>
inline T log2(T x) {
  const auto v = detail::computing(x);
  if (!(v > 0)) {
    if (v == 0) return convert<T>(-std::numeric_limits<float>::infinity());
    return detail::quiet_nan<T>();
  }
  if (std::isinf(v)) return x;
  return detail::rounded<T>(
      x, [](auto y) { return std::log2(y); }, exact_log2);
}

/// sin(x), x in radians, reduced by the true pi for every x. sin(+-0) = +-0; sin(+-inf) = NaN.
template <class T>
requires is_float_storage<T>
inline T sin(T x) {
  const auto v = detail::computing(x);
  if (!std::isfinite(v)) return detail::quiet_nan<T>();
  if (v == 0) return x;
  return detail::rounded<T>(
      x, [](auto y) { return std::sin(y); }, exact_sin);
}

}  // namespace touchstone::scalar
