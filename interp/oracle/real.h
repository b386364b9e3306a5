#pragma once

#include <string>

#ifdef TOUCHSTONE_WITHOUT_MPFR
#include <boost/multiprecision/cpp_bin_float.hpp>

#include "touchstone/interp/device/series.h"
#else
#include <boost/multiprecision/mpfr.hpp>
#endif

// Real numbers to 100 digits, for display.

namespace touchstone::interp {

#ifdef TOUCHSTONE_WITHOUT_MPFR

using Real = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<100>,
                                           boost::multiprecision::et_off>;

inline constexpr unsigned kRealBits = 400;

inline Dyadic dyadic(const Real& x) {
  int exponent = 0;
  const Real fraction = frexp(x, &exponent);
  return {ldexp(fraction, static_cast<int>(kRealBits)).convert_to<cpp_int>(),
          exponent - static_cast<int>(kRealBits)};
}
inline Real real(const Fixed& x) { return ldexp(Real(x.digits), -static_cast<int>(x.bits)); }
/// Enough bits to cover cancellation for x near a zero of a function.
inline unsigned bits_for(const Real& x) {
  int exponent = 0;
  (void)frexp(x, &exponent);
  return kRealBits + static_cast<unsigned>(exponent < 0 ? -exponent : 64);
}

inline Real exact_exp2(const Real& x) {
  constexpr double kMost = 1e6;
  if (!isfinite(x) || x > kMost || x < -kMost)
    return x > 0 ? std::numeric_limits<Real>::infinity() : x < 0 ? Real(0) : x;
  const Dyadic at = dyadic(x);
  return ldexp(real(series_exp2_fraction(at, bits_for(x))), static_cast<int>(floor_of(at)));
}
inline Real exact_log2(const Real& x) {
  if (x == 0) return -std::numeric_limits<Real>::infinity();
  if (!(x > 0)) return std::numeric_limits<Real>::quiet_NaN();
  if (isinf(x)) return x;
  return real(series_log2(dyadic(x), bits_for(x - 1)));
}
inline Real exact_sin(const Real& x) {
  if (!isfinite(x)) return std::numeric_limits<Real>::quiet_NaN();
  return x == 0 ? x : real(series_sin(dyadic(x), bits_for(x)));
}
/// 25 significant digits, like "%.25g".
std::string digits_of(const Real& x);

#else

using Real = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<100>,
                                           boost::multiprecision::et_off>;

inline Real exact_exp2(const Real& x) { return exp2(x); }
inline Real exact_log2(const Real& x) { return log2(x); }
inline Real exact_sin(const Real& x) { return sin(x); }
inline std::string digits_of(const Real& x) { return x.str(25); }

#endif

}  // namespace touchstone::interp
