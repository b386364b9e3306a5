#include "touchstone/interp/device/series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "../support/traced_draws.h"
#include "touchstone/interp/device/scalar_exact.h"

namespace touchstone::interp {
namespace {

// Compares MPFR's 64 bits, and whether more follow, with the series'. Exact results with trailing
// zeros are both shifted to 64 bits.
void expect_equal(const UnpackedReal& series, const UnpackedReal& mpfr, const char* name,
                  double x) {
  EXPECT_EQ(series.negative, mpfr.negative) << name << ' ' << x;
  EXPECT_EQ(series.mantissa, mpfr.mantissa) << name << ' ' << x;
  EXPECT_EQ(series.sticky, mpfr.sticky) << name << ' ' << x;
  if (mpfr.mantissa != 0) {
    EXPECT_EQ(series.exponent, mpfr.exponent) << name << ' ' << x;
  }
}

void check(double x) {
  if (!std::isfinite(x)) return;
  if (std::abs(x) < 0x1p20) expect_equal(exact_exp2_by_series(x), scalar::exact_exp2(x), "exp2", x);
  if (x > 0) expect_equal(exact_log2_by_series(x), scalar::exact_log2(x), "log2", x);
  expect_equal(exact_sin_by_series(x), scalar::exact_sin(x), "sin", x);
}

TEST(Series, AgreeWithMpfrOnAllKindsOfDoubles) {
  const double special[] = {0.0,
                            -0.0,
                            1,
                            -1,
                            0.5,
                            2,
                            3,
                            8,
                            1e22,
                            1e308,
                            -1e308,
                            5e-324,
                            -5e-324,
                            0x1p-1022,
                            0x1.fffffffffffffp1023,
                            0x1.0000000000001p0,
                            0x1.fffffffffffffp-1,
                            1e-300,
                            3.141592653589793,
                            1.5707963267948966,
                            6.283185307179586,
                            -1074,
                            -1074.5,
                            1023.9999999999999,
                            0x1p19,
                            0x1.45f306dc9c883p299};
  for (const double x : special) check(x);
  test::TracedDraws random(26);
  for (int i = 0; i < 1500; ++i) {
    double x = 0;
    std::uint64_t bits = random.bits();  // all exponents equally likely
    std::memcpy(&x, &bits, sizeof x);
    check(x);
    check(random.uniform(-8.0, 8.0));
    check(static_cast<double>(static_cast<float>(x)));
  }
}

}  // namespace
}  // namespace touchstone::interp
