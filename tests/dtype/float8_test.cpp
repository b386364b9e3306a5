#include "touchstone/dtype/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "nearest.h"
#include "touchstone/dtype/convert.h"

namespace touchstone {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The tables of the OCP specification, section 5.3.
TEST(Float8, ValuesAreThoseOfTheSpecification) {
  EXPECT_EQ(to_float(float8_e4m3{0x7e}), 448);
  EXPECT_EQ(to_float(float8_e4m3{0x08}), 0x1p-6F);
  EXPECT_EQ(to_float(float8_e4m3{0x07}), 0.875F * 0x1p-6F);
  EXPECT_EQ(to_float(float8_e4m3{0x01}), 0x1p-9F);
  EXPECT_TRUE(std::isnan(to_float(float8_e4m3{0x7f})));
  EXPECT_TRUE(std::isnan(to_float(float8_e4m3{0xff})));
  EXPECT_EQ(to_float(float8_e4m3{0x78}), 256);
  EXPECT_EQ(to_float(float8_e5m2{0x7b}), 57344);
  EXPECT_EQ(to_float(float8_e5m2{0x04}), 0x1p-14F);
  EXPECT_EQ(to_float(float8_e5m2{0x03}), 0.75F * 0x1p-14F);
  EXPECT_EQ(to_float(float8_e5m2{0x01}), 0x1p-16F);
  EXPECT_EQ(to_float(float8_e5m2{0x7c}), kInf);
  EXPECT_EQ(to_float(float8_e5m2{0xfc}), -kInf);
  for (const unsigned bits : {0x7dU, 0x7eU, 0x7fU, 0xfdU})
    EXPECT_TRUE(std::isnan(to_float(float8_e5m2{static_cast<std::uint8_t>(bits)})));
}

template <class T>
class Float8Type : public testing::Test {};
using Types = testing::Types<float8_e4m3, float8_e5m2>;
TYPED_TEST_SUITE(Float8Type, Types);

TYPED_TEST(Float8Type, EveryPatternIsExactInFloatAndComesBack) {
  for (unsigned i = 0; i < 256; ++i) {
    const TypeParam x{static_cast<std::uint8_t>(i)};
    const float f = to_float(x);
    EXPECT_EQ(std::signbit(f), i >= 0x80);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(to_float(convert<TypeParam>(f))));
      continue;
    }
    EXPECT_EQ(convert<TypeParam>(f), x);
    EXPECT_EQ(convert<TypeParam>(static_cast<double>(f)), x);
    if (std::isfinite(f)) {
      EXPECT_EQ(std::abs(f), test::NearestInList<TypeParam>::value(i & 0x7f));
    }
  }
}

// All floats whose further digits are a few ones: includes the midpoint of any two neighbours and
// the floats next to it on both sides.
TYPED_TEST(Float8Type, RoundsEveryFloatNearATieAndManyOthers) {
  const test::NearestInList<TypeParam> nearest;
  for (std::uint32_t i = 0; i < (1u << 16); ++i)
    for (const std::uint32_t below : {0u, 1u, 0x7fffu, 0x8000u, 0xffffu}) {
      const float f = std::bit_cast<float>(i << 16 | below);
      if (std::isnan(f)) continue;
      ASSERT_EQ(convert<TypeParam>(f), nearest(f)) << std::hexfloat << f;
      const double d = f;
      if (std::isinf(f)) continue;
      for (const double near : {std::nextafter(d, HUGE_VAL), std::nextafter(d, -HUGE_VAL)})
        ASSERT_EQ(convert<TypeParam>(near), nearest(near)) << std::hexfloat << near;
    }
}

TEST(Float8, OverflowModesGiveWhatTheyAreNamedFor) {
  const auto e4m3 = [](float x, Overflow mode) {
    return convert_to_float8<float8_e4m3>(x, mode).bits;
  };
  const auto e5m2 = [](float x, Overflow mode) {
    return convert_to_float8<float8_e5m2>(x, mode).bits;
  };
  // 464 and 61440 are the ties between the largest number and the next, if that existed.
  for (const Overflow mode : {Overflow::Saturate, Overflow::Infinity}) {
    EXPECT_EQ(e4m3(464, mode), 0x7e);
    EXPECT_EQ(e4m3(-464, mode), 0xfe);
    EXPECT_EQ(e5m2(std::nextafter(61440.0F, 0.0F), mode), 0x7b);
    EXPECT_EQ(e4m3(0x1p-10F, mode), 0x00);
    EXPECT_EQ(e4m3(std::nextafter(0x1p-10F, 1.0F), mode), 0x01);
    EXPECT_TRUE(std::isnan(to_float(convert_to_float8<float8_e4m3>(kNan, mode))));
    EXPECT_TRUE(std::isnan(to_float(convert_to_float8<float8_e5m2>(-kNan, mode))));
  }
  for (const float x : {std::nextafter(464.0F, 1e9F), 480.0F, 1e30F, kInf}) {
    EXPECT_EQ(e4m3(x, Overflow::Saturate), 0x7e);
    EXPECT_EQ(e4m3(-x, Overflow::Saturate), 0xfe);
    EXPECT_EQ(e4m3(x, Overflow::Infinity), 0x7f);
    EXPECT_EQ(e4m3(-x, Overflow::Infinity), 0xff);
    EXPECT_EQ(convert<float8_e4m3>(x).bits, 0x7e);
  }
  for (const float x : {61440.0F, 1e30F, kInf}) {
    EXPECT_EQ(e5m2(x, Overflow::Saturate), 0x7b);
    EXPECT_EQ(e5m2(-x, Overflow::Saturate), 0xfb);
    EXPECT_EQ(e5m2(x, Overflow::Infinity), 0x7c);
    EXPECT_EQ(convert<float8_e5m2>(-x).bits, 0xfc);
  }
  EXPECT_EQ(convert<float8_e4m3>(std::numeric_limits<std::int64_t>::min()).bits, 0xfe);
  EXPECT_EQ(convert<float8_e5m2>(std::numeric_limits<std::uint64_t>::max()).bits, 0x7c);
}

}  // namespace
}  // namespace touchstone
