#include "touchstone/dtype/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "../support/traced_draws.h"
#include "nearest.h"

namespace touchstone {
namespace {

TEST(RoundOnce, AgreesWithTheHardwareForFloatAndDouble) {
  test::TracedDraws random(3);
  for (int i = 0; i < 300'000; ++i) {
    const std::uint64_t m = random.bits() >> random.below(64);
    const int e = random.index(400) - 250;
    const bool negative = random.chance(1, 2);
    const long double exact = std::ldexp(static_cast<long double>(m), e) * (negative ? -1 : 1);
    ASSERT_EQ(round_once<float>({negative, m, e}), static_cast<float>(exact)) << m << " " << e;
    ASSERT_EQ(round_once<double>({negative, m, e - 900}),
              static_cast<double>(std::ldexp(exact, -900)));
    ASSERT_EQ(round_once<double>({negative, m, e + 900}),
              static_cast<double>(std::ldexp(exact, 900)));
  }
}

TEST(RoundOnce, AgreesWithTheListForFloat16) {
  const test::NearestInList<float16> nearest;
  test::TracedDraws random(4);
  for (int i = 0; i < 300'000; ++i) {
    const std::uint64_t m = random.bits() >> random.below(64);
    const int e = random.index(120) - 100;
    const auto exact = std::ldexp(static_cast<long double>(m), e);
    ASSERT_EQ(round_once<float16>({false, m, e}), nearest(exact)) << m << " " << e;
  }
}

TEST(RoundOnce, AStickyRestBreaksTies) {
  const std::uint64_t tie = (1ULL << 63) + (1ULL << 39);  // between two floats
  EXPECT_EQ(round_once<float>({false, tie, -63, false}), 1.0f);
  EXPECT_EQ(round_once<float>({false, tie, -63, true}), 1.0f + 0x1p-23f);
  EXPECT_EQ(round_once<float>({false, 1ULL << 63, -150 - 63, false}), 0.0f);
  EXPECT_EQ(round_once<float>({false, 1ULL << 63, -150 - 63, true}), 0x1p-149f);
}

TEST(RoundOnce, DirectedResultsEncloseTheValue) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kMax = std::numeric_limits<double>::max();
  const auto down = [](UnpackedReal x) { return round_once<double>(x, Rounding::Down); };
  const auto up = [](UnpackedReal x) { return round_once<double>(x, Rounding::Up); };
  EXPECT_EQ(down({false, 3, 5}), 96.0);
  EXPECT_EQ(up({false, 3, 5}), 96.0);
  EXPECT_EQ(down({true, 1ULL << 63, -63, true}), std::nextafter(-1.0, -kInf));
  EXPECT_EQ(up({true, 1ULL << 63, -63, true}), -1.0);
  EXPECT_EQ(down({false, 1, 1024}), kMax);
  EXPECT_EQ(up({false, 1, 1024}), kInf);
  EXPECT_EQ(down({true, 1, 1024}), -kInf);
  EXPECT_EQ(up({true, 1, 1024}), -kMax);
  EXPECT_EQ(down({false, 1, -5000}), 0.0);
  EXPECT_EQ(up({false, 1, -5000}), 0x1p-1074);
  EXPECT_EQ(down({true, 1, -5000}), -0x1p-1074);
  EXPECT_EQ(up({false, ~0ULL, 1024 - 64}), kInf);  // carries out of the last exponent
}

}  // namespace
}  // namespace touchstone
