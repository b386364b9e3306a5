#include "touchstone/dtype/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "../support/traced_draws.h"
#include "nearest.h"
#include "touchstone/dtype/convert.h"

namespace touchstone {
namespace {

template <class T>
class Narrow : public testing::Test {
 public:
  static const test::NearestInList<T>& nearest() {
    static const test::NearestInList<T> list;
    return list;
  }
  static bool same(T a, T b) {
    return a == b || (std::isnan(to_float(a)) && std::isnan(to_float(b)));
  }
};
using NarrowTypes = testing::Types<float16, bfloat16>;
TYPED_TEST_SUITE(Narrow, NarrowTypes);

TYPED_TEST(Narrow, EveryPatternIsExactInFloatAndComesBack) {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const TypeParam x{static_cast<std::uint16_t>(i)};
    const float f = to_float(x);
    EXPECT_EQ(std::signbit(f), i >= 0x8000);
    EXPECT_TRUE(this->same(convert<TypeParam>(f), x)) << std::hex << i;
    EXPECT_TRUE(this->same(convert<TypeParam>(static_cast<double>(f)), x)) << std::hex << i;
    if (std::isfinite(f)) {
      ASSERT_EQ(std::abs(f), test::NearestInList<TypeParam>::value(i & 0x7fff)) << std::hex << i;
    }
  }
}

TYPED_TEST(Narrow, RoundsFloatToNearestEven) {
  test::TracedDraws random(1);
  for (int i = 0; i < 1'000'000; ++i) {
    const auto f = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()));
    ASSERT_TRUE(this->same(convert<TypeParam>(f), this->nearest()(f))) << f;
  }
}

// Ties and the adjacent doubles, where double rounding fails.
TYPED_TEST(Narrow, RoundsDoubleNextToATieOnce) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < 0x7fff; ++i) {
    const TypeParam x{static_cast<std::uint16_t>(i)}, next{static_cast<std::uint16_t>(i + 1)};
    const double a = to_float(x), b = to_float(next);
    if (!std::isfinite(b)) break;
    const double tie = (a + b) / 2;
    for (const double d : {tie, std::nextafter(tie, -kInf), std::nextafter(tie, kInf)}) {
      ASSERT_EQ(convert<TypeParam>(d), this->nearest()(d)) << std::hexfloat << d;
      ASSERT_EQ(convert<TypeParam>(-d), this->nearest()(-d)) << std::hexfloat << d;
    }
  }
}

TYPED_TEST(Narrow, RoundsRandomDoubles) {
  test::TracedDraws random(2);
  for (int i = 0; i < 500'000; ++i) {
    const double d =
        std::ldexp(random.uniform(1.0, 2.0), static_cast<int>(random.uniform(-160.0, 140.0)));
    ASSERT_EQ(convert<TypeParam>(d), this->nearest()(d)) << std::hexfloat << d;
    const auto any = std::bit_cast<double>(random.bits());
    ASSERT_TRUE(this->same(convert<TypeParam>(any), this->nearest()(any))) << std::hexfloat << any;
  }
}

TEST(Float16, RoundingThroughFloatWouldBeWrong) {
  const double d = 1 + 0x1p-11 + 0x1p-40;  // just above the tie between 1 and the next float16
  EXPECT_EQ(to_float16(d).bits, 0x3c01);
  EXPECT_EQ(to_float16(static_cast<float>(d)).bits, 0x3c00);
  const double e = 1 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(to_bfloat16(e).bits, 0x3f81);
  EXPECT_EQ(to_bfloat16(static_cast<float>(e)).bits, 0x3f80);
}

TEST(Float16, OverflowAndUnderflowAtTheirTies) {
  EXPECT_EQ(to_float16(65519.99).bits, 0x7bff);
  EXPECT_EQ(to_float16(65520.0).bits, 0x7c00);
  EXPECT_EQ(to_float16(-65520.0f).bits, 0xfc00);
  EXPECT_EQ(to_float16(0x1p-25).bits, 0x0000);
  EXPECT_EQ(to_float16(0x1.0000001p-25).bits, 0x0001);
  EXPECT_EQ(to_float16(-0x1p-26f).bits, 0x8000);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(to_bfloat16(0x1.fep127).bits, 0x7f7f);
  EXPECT_EQ(to_bfloat16(0x1.ffp127).bits, 0x7f80);
  EXPECT_EQ(to_bfloat16(0x1p-134).bits, 0x0000);
  EXPECT_EQ(to_bfloat16(0x1.0000001p-134).bits, 0x0001);
}

TEST(Float16, NanStaysQuietWithItsSign) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(to_float16(nan).bits, 0x7e00);
  EXPECT_EQ(to_float16(-nan).bits, 0xfe00);
  EXPECT_EQ(to_bfloat16(-static_cast<double>(nan)).bits, 0xffc0);
  // A payload only in the low bits must not become infinity.
  EXPECT_EQ(to_bfloat16(std::bit_cast<float>(0x7f800001u)).bits, 0x7fc0);
  EXPECT_EQ(to_float16(std::bit_cast<double>(0xfff0000000000001u)).bits, 0xfe00);
}

}  // namespace
}  // namespace touchstone
