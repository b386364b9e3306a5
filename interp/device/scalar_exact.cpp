#include "touchstone/interp/device/scalar_exact.h"

#ifdef TOUCHSTONE_WITHOUT_MPFR

#include "touchstone/interp/device/series.h"

namespace touchstone::scalar {

UnpackedReal exact_exp2(double x) { return interp::exact_exp2_by_series(x); }
UnpackedReal exact_log2(double x) { return interp::exact_log2_by_series(x); }
UnpackedReal exact_sin(double x) { return interp::exact_sin_by_series(x); }

}  // namespace touchstone::scalar

#else

// mpfr.h declares mpfr_get_uj only if intmax_t is known.
#define MPFR_USE_INTMAX_T 1
#include <mpfr.h>

namespace touchstone::scalar {

namespace {

class Mpfr {
 public:
  explicit Mpfr(mpfr_prec_t precision) { mpfr_init2(value_, precision); }
  ~Mpfr() { mpfr_clear(value_); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

// MPFR caches pi and log 2 for each thread.
struct CacheOwner {
  CacheOwner() = default;
  CacheOwner(const CacheOwner&) = delete;
  CacheOwner& operator=(const CacheOwner&) = delete;
  ~CacheOwner() { mpfr_free_cache(); }
};

// x, rounded towards zero to 64 bits.
UnpackedReal unpacked(mpfr_ptr x, bool inexact) {
  UnpackedReal r;
  r.negative = mpfr_signbit(x) != 0;
  if (mpfr_zero_p(x) != 0) return r;
  r.exponent = mpfr_get_exp(x) - 64;
  r.sticky = inexact;
  mpfr_set_exp(x, 64);
  mpfr_abs(x, x, MPFR_RNDZ);
  r.mantissa = mpfr_get_uj(x, MPFR_RNDZ);
  return r;
}

// MPFR rounds correctly, so 64 bits rounded to zero and the inexact flag suffice.
template <class F>
UnpackedReal truncated(F function, double x) {
  thread_local const CacheOwner owner;
  Mpfr argument(53), result(64);
  mpfr_set_d(argument.get(), x, MPFR_RNDN);
  const int inexact = function(result.get(), argument.get(), MPFR_RNDZ);
  return unpacked(result.get(), inexact != 0);
}
template <class F>
UnpackedReal truncated(F function, double x, double y) {
  Mpfr second(53);
  mpfr_set_d(second.get(), y, MPFR_RNDN);
  return truncated(
      [&](mpfr_ptr r, mpfr_srcptr a, mpfr_rnd_t to) { return function(r, a, second.get(), to); },
      x);
}

// A transcendental value from approximations: approximate(r, x) has a relative error of at most
// 2^(bits lost - precision of r). Its value is never a number of 64 digits.
template <class F>
UnpackedReal narrowed(F approximate, double x, mpfr_prec_t lost) {
  thread_local const CacheOwner owner;
  Mpfr argument(53), result(64);
  mpfr_set_d(argument.get(), x, MPFR_RNDN);
  for (mpfr_prec_t precision = 128 + lost;; precision *= 2) {
    Mpfr wide(precision);
    approximate(wide.get(), argument.get());
    if (mpfr_can_round(wide.get(), precision - lost, MPFR_RNDN, MPFR_RNDZ, 64) == 0) continue;
    mpfr_set(result.get(), wide.get(), MPFR_RNDZ);
    return unpacked(result.get(), true);
  }
}

// r = x / (1 + exp(-r)), or 1 / (1 + exp(-r)) without x.
void over_one_plus_exp(mpfr_ptr r, mpfr_srcptr x) {
  mpfr_neg(r, r, MPFR_RNDN);
  mpfr_exp(r, r, MPFR_RNDN);
  mpfr_add_ui(r, r, 1, MPFR_RNDN);
  x == nullptr ? mpfr_ui_div(r, 1, r, MPFR_RNDN) : mpfr_div(r, x, r, MPFR_RNDN);
}

void gelu(mpfr_ptr r, mpfr_srcptr x) {  // x/2 erfc(-x / sqrt 2)
  mpfr_sqrt_ui(r, 2, MPFR_RNDN);
  mpfr_div(r, x, r, MPFR_RNDN);
  mpfr_neg(r, r, MPFR_RNDN);
  mpfr_erfc(r, r, MPFR_RNDN);
  mpfr_mul(r, r, x, MPFR_RNDN);
  mpfr_div_2ui(r, r, 1, MPFR_RNDN);
}

void gelu_tanh(mpfr_ptr r, mpfr_srcptr x) {  // x / (1 + exp(-2 sqrt(2/pi) (x + 0.044715 x^3)))
  Mpfr scale(mpfr_get_prec(r));
  mpfr_sqr(r, x, MPFR_RNDN);
  mpfr_mul_ui(r, r, 44715, MPFR_RNDN);
  mpfr_div_ui(r, r, 1'000'000, MPFR_RNDN);
  mpfr_add_ui(r, r, 1, MPFR_RNDN);
  mpfr_mul(r, r, x, MPFR_RNDN);
  mpfr_const_pi(scale.get(), MPFR_RNDN);
  mpfr_ui_div(scale.get(), 8, scale.get(), MPFR_RNDN);
  mpfr_sqrt(scale.get(), scale.get(), MPFR_RNDN);
  mpfr_mul(r, r, scale.get(), MPFR_RNDN);
  over_one_plus_exp(r, x);
}

// Newton's method from 0's neighbourhood or the tail, for erf, or erfc near 1: each step doubles
// the digits.
void erfinv(mpfr_ptr r, mpfr_srcptr x) {
  const mpfr_prec_t precision = mpfr_get_prec(r);
  Mpfr f(precision), slope(precision), rest(precision);
  mpfr_abs(rest.get(), x, MPFR_RNDN);
  mpfr_ui_sub(rest.get(), 1, rest.get(), MPFR_RNDN);  // 1 - |x|: exact for a double
  const bool tail = mpfr_cmp_d(rest.get(), 0.5) < 0;
  if (tail) {  // erfc(y) is near exp(-y^2)
    mpfr_log(r, rest.get(), MPFR_RNDN);
    mpfr_neg(r, r, MPFR_RNDN);
    mpfr_sqrt(r, r, MPFR_RNDN);
  } else {
    mpfr_abs(r, x, MPFR_RNDN);
  }
  for (int step = 0; step < 64; ++step) {
    if (tail) {
      mpfr_erfc(f.get(), r, MPFR_RNDN);
      mpfr_sub(f.get(), rest.get(), f.get(), MPFR_RNDN);
    } else {
      mpfr_erf(f.get(), r, MPFR_RNDN);
      mpfr_abs(slope.get(), x, MPFR_RNDN);
      mpfr_sub(f.get(), f.get(), slope.get(), MPFR_RNDN);
    }
    mpfr_sqr(slope.get(), r, MPFR_RNDN);
    mpfr_exp(slope.get(), slope.get(), MPFR_RNDN);
    mpfr_mul(f.get(), f.get(), slope.get(), MPFR_RNDN);
    mpfr_const_pi(slope.get(), MPFR_RNDN);
    mpfr_sqrt(slope.get(), slope.get(), MPFR_RNDN);
    mpfr_mul(f.get(), f.get(), slope.get(), MPFR_RNDN);
    mpfr_div_2ui(f.get(), f.get(), 1, MPFR_RNDN);
    mpfr_sub(r, r, f.get(), MPFR_RNDN);
    if (mpfr_zero_p(f.get()) != 0 || mpfr_get_exp(f.get()) < mpfr_get_exp(r) - precision / 2 - 8)
      break;  // the next correction is below the last place
  }
  mpfr_copysign(r, r, x, MPFR_RNDN);
}

}  // namespace

UnpackedReal exact_exp2(double x) { return truncated(mpfr_exp2, x); }
UnpackedReal exact_log2(double x) { return truncated(mpfr_log2, x); }
UnpackedReal exact_sin(double x) { return truncated(mpfr_sin, x); }

UnpackedReal exact_function(NamedFunction f, double x, double y) {
  constexpr mpfr_prec_t kLost = 24;  // doubles have exponents of at most 11 bits
  switch (f) {
    case NamedFunction::Exp:
      return truncated(mpfr_exp, x);
    case NamedFunction::Expm1:
      return truncated(mpfr_expm1, x);
    case NamedFunction::Log:
      return truncated(mpfr_log, x);
    case NamedFunction::Log10:
      return truncated(mpfr_log10, x);
    case NamedFunction::Log1p:
      return truncated(mpfr_log1p, x);
    case NamedFunction::Rsqrt:
      return truncated(mpfr_rec_sqrt, x);
    case NamedFunction::Sigmoid:
      return narrowed(
          [](mpfr_ptr r, mpfr_srcptr a) {
            mpfr_set(r, a, MPFR_RNDN);
            over_one_plus_exp(r, nullptr);
          },
          x, kLost);
    case NamedFunction::Silu:
      return narrowed(
          [](mpfr_ptr r, mpfr_srcptr a) {
            mpfr_set(r, a, MPFR_RNDN);
            over_one_plus_exp(r, a);
          },
          x, kLost);
    case NamedFunction::Tanh:
      return truncated(mpfr_tanh, x);
    case NamedFunction::Erf:
      return truncated(mpfr_erf, x);
    case NamedFunction::Erfc:
      return truncated(mpfr_erfc, x);
    case NamedFunction::Gelu:
      return narrowed(gelu, x, kLost);
    case NamedFunction::GeluTanh:
      return narrowed(gelu_tanh, x, kLost);
    case NamedFunction::Softplus:
      return narrowed(
          [](mpfr_ptr r, mpfr_srcptr a) {
            mpfr_abs(r, a, MPFR_RNDN);
            mpfr_neg(r, r, MPFR_RNDN);
            mpfr_exp(r, r, MPFR_RNDN);
            mpfr_log1p(r, r, MPFR_RNDN);
            if (mpfr_sgn(a) > 0) mpfr_add(r, r, a, MPFR_RNDN);
          },
          x, kLost);
    case NamedFunction::Cos:
      return truncated(mpfr_cos, x);
    case NamedFunction::Tan:
      return truncated(mpfr_tan, x);
    case NamedFunction::Asin:
      return truncated(mpfr_asin, x);
    case NamedFunction::Acos:
      return truncated(mpfr_acos, x);
    case NamedFunction::Atan:
      return truncated(mpfr_atan, x);
    case NamedFunction::Sinh:
      return truncated(mpfr_sinh, x);
    case NamedFunction::Cosh:
      return truncated(mpfr_cosh, x);
    case NamedFunction::Asinh:
      return truncated(mpfr_asinh, x);
    case NamedFunction::Acosh:
      return truncated(mpfr_acosh, x);
    case NamedFunction::Atanh:
      return truncated(mpfr_atanh, x);
    case NamedFunction::Cbrt:
      return truncated(mpfr_cbrt, x);
    case NamedFunction::Lgamma:
      return truncated(
          [](mpfr_ptr r, mpfr_srcptr a, mpfr_rnd_t to) {
            int sign = 0;
            return mpfr_lgamma(r, &sign, a, to);
          },
          x);
    case NamedFunction::Digamma:
      return truncated(mpfr_digamma, x);
    case NamedFunction::Erfinv:
      return narrowed(erfinv, x, kLost);
    case NamedFunction::Floor:
      return truncated([](mpfr_ptr r, mpfr_srcptr a, mpfr_rnd_t) { return mpfr_floor(r, a); }, x);
    case NamedFunction::Ceil:
      return truncated([](mpfr_ptr r, mpfr_srcptr a, mpfr_rnd_t) { return mpfr_ceil(r, a); }, x);
    case NamedFunction::Round:
      return truncated(
          [](mpfr_ptr r, mpfr_srcptr a, mpfr_rnd_t) { return mpfr_rint(r, a, MPFR_RNDN); }, x);
    case NamedFunction::Trunc:
      return truncated([](mpfr_ptr r, mpfr_srcptr a, mpfr_rnd_t) { return mpfr_trunc(r, a); }, x);
    case NamedFunction::Atan2:
      return truncated(mpfr_atan2, x, y);
    case NamedFunction::Pow:
      return truncated(mpfr_pow, x, y);
    case NamedFunction::Hypot:
      return truncated(mpfr_hypot, x, y);
  }
  return {};
}

}  // namespace touchstone::scalar

#endif
