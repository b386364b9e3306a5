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

// MPFR rounds correctly, so 64 bits rounded to zero and the inexact flag suffice.
template <class F>
UnpackedReal truncated(F function, double x) {
  thread_local const CacheOwner owner;
  Mpfr argument(53);
  Mpfr result(64);
  mpfr_set_d(argument.get(), x, MPFR_RNDN);
  const int inexact = function(result.get(), argument.get(), MPFR_RNDZ);
  UnpackedReal r;
  r.negative = mpfr_signbit(result.get()) != 0;
  if (mpfr_zero_p(result.get()) != 0) return r;
  r.exponent = mpfr_get_exp(result.get()) - 64;
  r.sticky = inexact != 0;
  mpfr_set_exp(result.get(), 64);
  mpfr_abs(result.get(), result.get(), MPFR_RNDZ);
  r.mantissa = mpfr_get_uj(result.get(), MPFR_RNDZ);
  return r;
}

}  // namespace

UnpackedReal exact_exp2(double x) { return truncated(mpfr_exp2, x); }
UnpackedReal exact_log2(double x) { return truncated(mpfr_log2, x); }
UnpackedReal exact_sin(double x) { return truncated(mpfr_sin, x); }

}  // namespace touchstone::scalar

#endif
