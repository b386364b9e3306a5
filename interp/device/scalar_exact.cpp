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
#include <utility>

#include <fmt/format.h>
#include <mpfr.h>

#include "touchstone/base/error.h"

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

void sigmoid(mpfr_ptr r, mpfr_srcptr x) {
  mpfr_set(r, x, MPFR_RNDN);
  over_one_plus_exp(r, nullptr);
}
void silu(mpfr_ptr r, mpfr_srcptr x) {
  mpfr_set(r, x, MPFR_RNDN);
  over_one_plus_exp(r, x);
}
void softplus(mpfr_ptr r, mpfr_srcptr x) {  // max(x, 0) + log1p(exp(-|x|))
  mpfr_abs(r, x, MPFR_RNDN);
  mpfr_neg(r, r, MPFR_RNDN);
  mpfr_exp(r, r, MPFR_RNDN);
  mpfr_log1p(r, r, MPFR_RNDN);
  if (mpfr_sgn(x) > 0) mpfr_add(r, r, x, MPFR_RNDN);
}
int lgamma(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t to) {
  int sign = 0;
  return mpfr_lgamma(r, &sign, x, to);
}

using Rounded = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
constexpr std::pair<NamedFunction, Rounded> kRounded[] = {
    {NamedFunction::Exp, mpfr_exp},     {NamedFunction::Expm1, mpfr_expm1},
    {NamedFunction::Log, mpfr_log},     {NamedFunction::Log10, mpfr_log10},
    {NamedFunction::Log1p, mpfr_log1p}, {NamedFunction::Rsqrt, mpfr_rec_sqrt},
    {NamedFunction::Tanh, mpfr_tanh},   {NamedFunction::Erf, mpfr_erf},
    {NamedFunction::Erfc, mpfr_erfc},   {NamedFunction::Cos, mpfr_cos},
    {NamedFunction::Tan, mpfr_tan},     {NamedFunction::Asin, mpfr_asin},
    {NamedFunction::Acos, mpfr_acos},   {NamedFunction::Atan, mpfr_atan},
    {NamedFunction::Sinh, mpfr_sinh},   {NamedFunction::Cosh, mpfr_cosh},
    {NamedFunction::Asinh, mpfr_asinh}, {NamedFunction::Acosh, mpfr_acosh},
    {NamedFunction::Atanh, mpfr_atanh}, {NamedFunction::Cbrt, mpfr_cbrt},
    {NamedFunction::Lgamma, lgamma},    {NamedFunction::Digamma, mpfr_digamma},
};
using RoundedOfTwo = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
constexpr std::pair<NamedFunction, RoundedOfTwo> kRoundedOfTwo[] = {
    {NamedFunction::Atan2, mpfr_atan2},
    {NamedFunction::Pow, mpfr_pow},
    {NamedFunction::Hypot, mpfr_hypot},
};
using Approximate = void (*)(mpfr_ptr, mpfr_srcptr);
constexpr std::pair<NamedFunction, Approximate> kApproximate[] = {
    {NamedFunction::Sigmoid, sigmoid},   {NamedFunction::Silu, silu},
    {NamedFunction::Gelu, gelu},         {NamedFunction::GeluTanh, gelu_tanh},
    {NamedFunction::Softplus, softplus}, {NamedFunction::Erfinv, erfinv},
};

}  // namespace

UnpackedReal exact_exp2(double x) { return truncated(mpfr_exp2, x); }
UnpackedReal exact_log2(double x) { return truncated(mpfr_log2, x); }
UnpackedReal exact_sin(double x) { return truncated(mpfr_sin, x); }

UnpackedReal exact_function(NamedFunction f, double x, double y) {
  for (const auto& [function, of] : kRounded)
    if (function == f) return truncated(of, x);
  for (const auto& [function, of] : kRoundedOfTwo)
    if (function == f) return truncated(of, x, y);
  constexpr mpfr_prec_t kLost = 24;  // doubles have exponents of at most 11 bits
  for (const auto& [function, of] : kApproximate)
    if (function == f) return narrowed(of, x, kLost);
  throw AstError(fmt::format("{} is exact; it has no approximation", info(f).name));
}

}  // namespace touchstone::scalar

#endif
