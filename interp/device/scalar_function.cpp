#include "touchstone/interp/device/scalar_function.h"

#include <cmath>
#include <limits>
#include <numbers>

#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/erf.hpp>

#include "touchstone/interp/device/scalar_exact.h"
#include "touchstone/interp/device/scalar_transcendental.h"

namespace touchstone::scalar {
namespace {

// Errors become NaN and infinities.
using boost::math::policies::ignore_error;
using Quiet = boost::math::policies::policy<boost::math::policies::domain_error<ignore_error>,
                                            boost::math::policies::pole_error<ignore_error>,
                                            boost::math::policies::overflow_error<ignore_error>,
                                            boost::math::policies::underflow_error<ignore_error>>;

// libm's functions are off by at most 8 units (erfc, lgamma: 16; measured below 6); a formula adds
// what an operation's rounding, magnified by the condition of what follows, can change.
template <class W>
Near<W> near(NamedFunction f, W x, W y) {
  constexpr W kLibm = 16, kSqrtHalf = std::numbers::sqrt2_v<W> / 2;
  switch (f) {
    case NamedFunction::Exp: return {std::exp(x), kLibm};
    case NamedFunction::Expm1: return {std::expm1(x), kLibm};
    case NamedFunction::Log: return {std::log(x), kLibm};
    case NamedFunction::Log10: return {std::log10(x), kLibm};
    case NamedFunction::Log1p: return {std::log1p(x), kLibm};
    case NamedFunction::Rsqrt: return {1 / std::sqrt(x), kLibm};
    case NamedFunction::Sigmoid: return {1 / (1 + std::exp(-x)), kLibm};
    case NamedFunction::Silu:
      return {x == 0 || std::isinf(x) ? (x < 0 ? -W{0} : x) : x / (1 + std::exp(-x)), kLibm};
    case NamedFunction::Tanh: return {std::tanh(x), kLibm};
    case NamedFunction::Erf: return {std::erf(x), kLibm};
    case NamedFunction::Erfc: return {std::erfc(x), 2 * kLibm};
    case NamedFunction::Gelu:
      if (std::isinf(x)) return {x < 0 ? -W{0} : x, 0};
      return {x / 2 * std::erfc(-x * kSqrtHalf), 2 * kLibm + (x < 0 ? 4 * x * x : W{0})};
    case NamedFunction::GeluTanh: {
      if (std::isinf(x)) return {x < 0 ? -W{0} : x, 0};
      const W twice = 2 * kSqrtHalf * std::numbers::inv_sqrtpi_v<W> * 2 *
                      (x + static_cast<W>(0.044715L) * x * x * x);
      return {x / (1 + std::exp(-twice)), kLibm + (x < 0 ? -8 * twice : W{0})};
    }
    case NamedFunction::Softplus:
      return {x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)), kLibm};
    case NamedFunction::Cos: return {std::cos(x), kLibm};
    case NamedFunction::Tan: return {std::tan(x), kLibm};
    case NamedFunction::Asin: return {std::asin(x), kLibm};
    case NamedFunction::Acos: return {std::acos(x), kLibm};
    case NamedFunction::Atan: return {std::atan(x), kLibm};
    case NamedFunction::Sinh: return {std::sinh(x), kLibm};
    case NamedFunction::Cosh: return {std::cosh(x), kLibm};
    case NamedFunction::Asinh: return {std::asinh(x), kLibm};
    case NamedFunction::Acosh: return {std::acosh(x), kLibm};
    case NamedFunction::Atanh: return {std::atanh(x), kLibm};
    case NamedFunction::Cbrt: return {std::cbrt(x), kLibm};
    case NamedFunction::Lgamma: {
      int sign = 0;
      if constexpr (std::is_same_v<W, double>)
        return {::lgamma_r(x, &sign), 2 * kLibm};
      else
        return {::lgammal_r(x, &sign), 2 * kLibm};
    }
    case NamedFunction::Digamma:
      if (x == 0) return {std::copysign(std::numeric_limits<W>::infinity(), -x), 0};
      if (std::isinf(x) && x > 0) return {x, 0};
      if (std::isinf(x) || (x < 0 && x == std::floor(x)))
        return {std::numeric_limits<W>::quiet_NaN(), 0};
      // Its error is absolute near its roots: the one above 0, and one between negative integers.
      return {boost::math::digamma(x, Quiet()), x < 2 ? std::numeric_limits<W>::infinity() : 64};
    case NamedFunction::Erfinv:
      if (x == 0) return {x, 0};
      if (!(std::abs(x) <= 1)) return {std::numeric_limits<W>::quiet_NaN(), 0};
      if (std::abs(x) == 1) return {std::copysign(std::numeric_limits<W>::infinity(), x), 0};
      return {boost::math::erf_inv(x, Quiet()),
              std::abs(x) < W{0x1p-500L} ? std::numeric_limits<W>::infinity() : 64};
    case NamedFunction::Floor: return {std::floor(x), 0};
    case NamedFunction::Ceil: return {std::ceil(x), 0};
    case NamedFunction::Round: return {std::nearbyint(x), 0};
    case NamedFunction::Trunc: return {std::trunc(x), 0};
    case NamedFunction::Atan2: return {std::atan2(x, y), kLibm};
    case NamedFunction::Pow: return {std::pow(x, y), kLibm};
    case NamedFunction::Hypot: return {std::hypot(x, y), kLibm};
  }
  return {};
}

// pow(NaN, 0) is 1, hypot(NaN, inf) infinite.
bool is_nan_of_nan(NamedFunction f, double x, double y) {
  return x != x && !(f == NamedFunction::Pow && y == 0) &&
         !(f == NamedFunction::Hypot && std::isinf(y));
}

template <class T>
T rounded_from(long double y) {
  if constexpr (std::is_same_v<T, double>)
    return static_cast<double>(y);
  else
    return convert<T>(static_cast<double>(y));  // y is a double
}

}  // namespace

template <class T>
requires is_float_storage<T> T function(NamedFunction f, T x, T y) {
  using W = detail::Wider<T>;
  const auto a = static_cast<double>(detail::computing(x));
  const auto b = static_cast<double>(detail::computing(y));
  if (is_nan_of_nan(f, a, b)) return detail::quiet_nan<T>();
  const Near<W> result = near<W>(f, a, b);
  if (result.value != result.value) return detail::quiet_nan<T>();
  if (result.value == 0 || std::isinf(result.value) || result.error == 0)
    return rounded_from<T>(result.value);
#ifdef TOUCHSTONE_WITHOUT_MPFR
  return rounded_from<T>(result.value);
#else
  if constexpr (detail::kHasWider<T>) {
    const W error = std::abs(result.value) * result.error * std::numeric_limits<W>::epsilon();
    if (std::isfinite(error)) {
      const T low = rounded_from<T>(result.value - error);
      if (low == rounded_from<T>(result.value + error)) return low;
    }
  }
  return round_once<T>(exact_function(f, a, b));
#endif
}

template <class W>
Near<W> near_function(NamedFunction f, W x, W y) {
  if (is_nan_of_nan(f, static_cast<double>(x), static_cast<double>(y))) return {x, 0};
  return near<W>(f, x, y);
}
template Near<double> near_function(NamedFunction, double, double);
template Near<long double> near_function(NamedFunction, long double, long double);

template float8_e4m3 function(NamedFunction, float8_e4m3, float8_e4m3);
template float8_e5m2 function(NamedFunction, float8_e5m2, float8_e5m2);
template float16 function(NamedFunction, float16, float16);
template bfloat16 function(NamedFunction, bfloat16, bfloat16);
template float function(NamedFunction, float, float);
template double function(NamedFunction, double, double);

}  // namespace touchstone::scalar
