#include "touchstone/fuzz/definitions/number_formats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace touchstone::fuzz::definition {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

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
