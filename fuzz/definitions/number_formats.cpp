#include "touchstone/fuzz/definitions/number_formats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace touchstone::fuzz::definition {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

bool has_value(NamedFunction function) { return function != NamedFunction::Erfinv; }

void apply(NamedFunction function, Number& x, Number& y) {
  constexpr auto kNearest = MPFR_RNDN;
  const mpfr_ptr r = x.get(), second = y.get();
  Number first(0, Number::kFunction), part(0, Number::kFunction);
  const mpfr_ptr v = first.get(), w = part.get();
  mpfr_set(v, r, kNearest);
  const auto one = [&](auto* of) { of(r, v, kNearest); };
  const auto two = [&](auto* of) { of(r, v, second, kNearest); };
  // v / (1 + e^-w); at -infinity 0 with the sign of v.
  const auto times_sigmoid = [&] {
    mpfr_neg(w, w, kNearest);
    mpfr_exp(w, w, kNearest);
    mpfr_add_ui(w, w, 1, kNearest);
    if (mpfr_inf_p(w) == 0) return void(mpfr_div(r, v, w, kNearest));
    mpfr_set_zero(r, mpfr_signbit(v) != 0 ? -1 : 1);
  };
  switch (function) {
    case NamedFunction::Exp: return one(&mpfr_exp);
    case NamedFunction::Expm1: return one(&mpfr_expm1);
    case NamedFunction::Log: return one(&mpfr_log);
    case NamedFunction::Log10: return one(&mpfr_log10);
    case NamedFunction::Log1p: return one(&mpfr_log1p);
    case NamedFunction::Rsqrt:  // of -0: -infinity, other than MPFR's
      mpfr_sqrt(w, v, kNearest);
      mpfr_ui_div(r, 1, w, kNearest);
      return;
    case NamedFunction::Sigmoid:
      mpfr_set(w, v, kNearest);
      mpfr_set_ui(v, 1, kNearest);
      return times_sigmoid();
    case NamedFunction::Silu: mpfr_set(w, v, kNearest); return times_sigmoid();
    case NamedFunction::Tanh: return one(&mpfr_tanh);
    case NamedFunction::Erf: return one(&mpfr_erf);
    case NamedFunction::Erfc: return one(&mpfr_erfc);
    case NamedFunction::Gelu:  // x/2 erfc(-x / sqrt 2)
      mpfr_sqrt_ui(w, 2, kNearest);
      mpfr_div(w, v, w, kNearest);
      mpfr_neg(w, w, kNearest);
      mpfr_erfc(w, w, kNearest);
      mpfr_div_2ui(r, v, 1, kNearest);
      if (mpfr_zero_p(w) == 0) return void(mpfr_mul(r, r, w, kNearest));
      mpfr_set_zero(r, -1);
      return;
    case NamedFunction::GeluTanh:  // x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))
      mpfr_sqr(w, v, kNearest);
      mpfr_mul_ui(w, w, 44715, kNearest);
      mpfr_div_ui(w, w, 1000000, kNearest);
      mpfr_add_ui(w, w, 1, kNearest);
      mpfr_mul(w, w, v, kNearest);
      mpfr_const_pi(r, kNearest);
      mpfr_ui_div(r, 8, r, kNearest);
      mpfr_sqrt(r, r, kNearest);
      mpfr_mul(w, w, r, kNearest);
      return times_sigmoid();
    case NamedFunction::Softplus:
      mpfr_abs(w, v, kNearest);
      mpfr_neg(w, w, kNearest);
      mpfr_exp(w, w, kNearest);
      mpfr_log1p(w, w, kNearest);
      mpfr_max(r, v, Number(0).get(), kNearest);
      mpfr_add(r, r, w, kNearest);
      return;
    case NamedFunction::Cos: return one(&mpfr_cos);
    case NamedFunction::Tan: return one(&mpfr_tan);
    case NamedFunction::Asin: return one(&mpfr_asin);
    case NamedFunction::Acos: return one(&mpfr_acos);
    case NamedFunction::Atan: return one(&mpfr_atan);
    case NamedFunction::Sinh: return one(&mpfr_sinh);
    case NamedFunction::Cosh: return one(&mpfr_cosh);
    case NamedFunction::Asinh: return one(&mpfr_asinh);
    case NamedFunction::Acosh: return one(&mpfr_acosh);
    case NamedFunction::Atanh: return one(&mpfr_atanh);
    case NamedFunction::Cbrt: return one(&mpfr_cbrt);
    case NamedFunction::Lgamma: {
      int sign = 0;
      mpfr_lgamma(r, &sign, v, kNearest);
      return;
    }
    case NamedFunction::Digamma: return one(&mpfr_digamma);
    case NamedFunction::Erfinv: mpfr_set_nan(r); return;
    case NamedFunction::Floor: mpfr_floor(r, v); return;
    case NamedFunction::Ceil: mpfr_ceil(r, v); return;
    case NamedFunction::Round: mpfr_rint(r, v, kNearest); return;
    case NamedFunction::Trunc: mpfr_trunc(r, v); return;
    case NamedFunction::Atan2: return two(&mpfr_atan2);
    case NamedFunction::Pow: return two(&mpfr_pow);
    case NamedFunction::Hypot: return two(&mpfr_hypot);
  }
}

double rounded(Number& x, DType to) {
  const mpfr_ptr v = x.get();
  if (mpfr_nan_p(v) != 0) return kNaN;
  const DTypeInfo& format = info(to);
  const double sign = mpfr_signbit(v) != 0 ? -1 : 1;
  const double most = format.infinities
                          ? std::ldexp(2 - std::ldexp(1.0, 1 - format.digits), format.max_exponent)
                          : 448;  // OCP 8-bit Floating Point Specification 1.0, table 1
  const double beyond = format.infinities ? kInfinity : most;
  if (mpfr_inf_p(v) != 0) return sign * beyond;
  if (mpfr_zero_p(v) != 0) return sign * 0.0;
  const std::int64_t exponent = mpfr_get_exp(v) - 1;
  const std::int64_t unit =
      std::max<std::int64_t>(exponent, format.min_exponent) - format.digits + 1;
  mpfr_mul_2si(v, v, -unit, MPFR_RNDN);
  mpfr_rint(v, v, MPFR_RNDN);
  mpfr_mul_2si(v, v, unit, MPFR_RNDN);
  if (mpfr_cmpabs(v, Number(most, 64).get()) > 0) return sign * beyond;
  return mpfr_get_d(v, MPFR_RNDN);
}

double rounded(double value, DType to) {
  Number x(value, 64);
  return rounded(x, to);
}

Wide wrapped(Wide value, DType to) {
  if (is_bool(to)) return value != 0 ? 1 : 0;
  const int bits = 8 * static_cast<int>(itemsize(to));
  const Wide turn = Wide{1} << bits;
  value %= turn;
  if (value < 0) value += turn;
  if (!is_unsigned(to) && value >= turn / 2) value -= turn;
  return value;
}

Wide least(DType type) {
  return is_bool(type) || is_unsigned(type) ? 0 : -(Wide{1} << (8 * itemsize(type) - 1));
}
Wide most(DType type) {
  if (is_bool(type)) return 1;
  return (Wide{1} << (8 * itemsize(type) - (is_unsigned(type) ? 0 : 1))) - 1;
}

double float_of_bits(DType dtype, std::uint64_t bits) {
  const DTypeInfo& format = info(dtype);
  const int width = 8 * format.itemsize, fraction = format.digits - 1;
  const int exponents = width - 1 - fraction;
  const std::uint64_t part = bits & ((std::uint64_t{1} << fraction) - 1);
  const auto exponent = static_cast<int>(bits >> fraction & ((std::uint64_t{1} << exponents) - 1));
  const double sign = (bits >> (width - 1) & 1) != 0 ? -1 : 1;
  const int last = (1 << exponents) - 1;
  if (format.infinities && exponent == last) return part == 0 ? sign * kInfinity : kNaN;
  if (!format.infinities && exponent == last && part == (std::uint64_t{1} << fraction) - 1)
    return kNaN;
  if (exponent == 0)
    return sign * std::ldexp(static_cast<double>(part), format.min_exponent - fraction);
  return sign * std::ldexp(static_cast<double>(part | std::uint64_t{1} << fraction),
                           exponent - 1 + format.min_exponent - fraction);
}

std::uint64_t bits_of_float(DType dtype, double value) {
  const DTypeInfo& format = info(dtype);
  const int width = 8 * format.itemsize, fraction = format.digits - 1;
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (width - 1) : 0;
  const std::uint64_t ones = (std::uint64_t{1} << (width - 1)) - 1;
  if (std::isnan(value)) return ones;
  value = std::abs(rounded(value, dtype));
  const std::uint64_t least_normal = std::uint64_t{1} << fraction;
  if (std::isinf(value)) return sign | (ones & ~(least_normal - 1));
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, format.min_exponent);
  const auto digits = static_cast<std::uint64_t>(std::ldexp(value, fraction - exponent));
  if (digits < least_normal) return sign | digits;  // a subnormal
  const auto biased = static_cast<std::uint64_t>(exponent - format.min_exponent + 1);
  return sign | biased << fraction | (digits - least_normal);
}

}  // namespace touchstone::fuzz::definition
