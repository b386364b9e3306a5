#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include <mpfr.h>

#include "touchstone/dtype/convert.h"
#include "touchstone/dtype/scalar.h"

namespace touchstone::test {

/// An MPFR number.
class Real {
 public:
  explicit Real(double x = 0, mpfr_prec_t precision = 53) {
    mpfr_init2(value_, precision);
    mpfr_set_d(value_, x, MPFR_RNDN);
  }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

/// f(result, arguments..., rounding) by MPFR in exactly T's format (precision, exponent range,
/// subnormals), as the manual of mpfr_subnormalize describes. Shares nothing with the scalars.
template <class T, class F, class... Args>
T in_format(F f, Args... arguments) {
  constexpr DTypeInfo kInfo = info(dtype_v<T>);
  const mpfr_exp_t emin = mpfr_get_emin();
  const mpfr_exp_t emax = mpfr_get_emax();
  Real result(0, kInfo.digits);
  double value = 0;
  [&](auto&&... reals) {
    mpfr_set_emin(kInfo.min_exponent - kInfo.digits + 2);
    mpfr_set_emax(kInfo.max_exponent + 1);
    const int inexact = f(result.get(), reals.get()..., MPFR_RNDN);
    mpfr_subnormalize(result.get(), inexact, MPFR_RNDN);
    value = mpfr_get_d(result.get(), MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
  }(Real(convert<double>(arguments))...);
  return convert<T>(value);  // exact
}

/// Equal bits, or both NaN.
template <class T>
bool same(T a, T b) {
  return Scalar::of(a) == Scalar::of(b) || (Scalar::of(a).is_nan() && Scalar::of(b).is_nan());
}

template <class T>
T of_bits(std::uint64_t bits) {
  return Scalar::from_bits(dtype_v<T>, bits).template as<T>();
}

template <class T>
std::string show(T x) {
  return Scalar::of(x).str();
}

}  // namespace touchstone::test
