#include "touchstone/interp/device/scalar_arith.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "../support/traced_draws.h"
#include "scalar_reference.h"

namespace touchstone::scalar {
namespace {

using test::in_format;
using test::of_bits;
using test::same;
using test::show;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// ---- bool and integers

TEST(ScalarBool, IsATableOfTruth) {
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      EXPECT_EQ(add(a, b), a || b);
      EXPECT_EQ(mul(a, b), a && b);
      EXPECT_EQ(sub(a, b), a != b);
      EXPECT_EQ(div(a, b), a && b);
      EXPECT_EQ(mod(a, b), false);
      EXPECT_EQ(max(a, b), a || b);
      EXPECT_EQ(xor_(a, b), a != b);
      EXPECT_EQ(cmplt(a, b), !a && b);
      EXPECT_EQ(cmpeq(a, b), a == b);
      EXPECT_EQ(neg(a), !a);
      EXPECT_EQ(div_is_poison(a, b), !b);
    }
}

// T computed in a wider int, where nothing overflows.
template <class T>
void check_all_pairs() {
  using Limits = std::numeric_limits<T>;
  for (int a = Limits::min(); a <= Limits::max(); ++a)
    for (int b = Limits::min(); b <= Limits::max(); ++b) {
      const T x = static_cast<T>(a), y = static_cast<T>(b);
      ASSERT_EQ(add(x, y), static_cast<T>(a + b));
      ASSERT_EQ(sub(x, y), static_cast<T>(a - b));
      ASSERT_EQ(mul(x, y), static_cast<T>(a * b));
      ASSERT_EQ(div(x, y), b == 0 ? T{0} : static_cast<T>(a / b));
      ASSERT_EQ(mod(x, y), b == 0 ? T{0} : static_cast<T>(a % b));
      ASSERT_EQ(max(x, y), std::max(a, b));
      ASSERT_EQ(xor_(x, y), static_cast<T>(a ^ b));
      ASSERT_EQ(div_is_poison(x, y), b == 0 || a / b > Limits::max());
    }
}

TEST(ScalarInteger, Int8AgreesWithIntForEveryPair) { check_all_pairs<std::int8_t>(); }
TEST(ScalarInteger, UInt8AgreesWithIntForEveryPair) { check_all_pairs<std::uint8_t>(); }

template <class T>
class ScalarInteger : public testing::Test {};
using Integers = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                                std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(ScalarInteger, Integers);

TYPED_TEST(ScalarInteger, WrapsAndNeverTraps) {
  using Limits = std::numeric_limits<TypeParam>;
  constexpr TypeParam kMin = Limits::min(), kMax = Limits::max(), kOne = 1;
  constexpr auto kMinusOne = static_cast<TypeParam>(-1);
  EXPECT_EQ(add(kMax, kOne), kMin);
  EXPECT_EQ(sub(kMin, kOne), kMax);
  EXPECT_EQ(mul(kMax, kMax), kOne);
  EXPECT_EQ(neg(kMin), kMin);
  EXPECT_EQ(div(kOne, TypeParam{0}), 0);
  EXPECT_EQ(mod(kOne, TypeParam{0}), 0);
  EXPECT_TRUE(div_is_poison(kOne, TypeParam{0}));
  EXPECT_EQ(div_is_poison(kMin, kMinusOne), std::is_signed_v<TypeParam>);
  EXPECT_EQ(div(kMin, kMinusOne), std::is_signed_v<TypeParam> ? kMin : 0);
  EXPECT_EQ(mod(kMin, kMinusOne), 0);
  EXPECT_EQ(mulacc(kMax, kMax, kMinusOne), 0);
  if constexpr (std::is_signed_v<TypeParam>) {
    EXPECT_EQ(div(TypeParam(-7), TypeParam(2)), -3);
    EXPECT_EQ(mod(TypeParam(-7), TypeParam(2)), -1);
    EXPECT_EQ(mod(TypeParam(7), TypeParam(-2)), 1);
  }
}

// ---- floats

template <class T>
class ScalarFloat : public testing::Test {
 public:
  static T of(double x) { return convert<T>(x); }
};
using Floats = testing::Types<float8_e4m3, float8_e5m2, float16, bfloat16, float, double>;
TYPED_TEST_SUITE(ScalarFloat, Floats);

TYPED_TEST(ScalarFloat, NegFlipsTheSignBitOfAnything) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << (sizeof(TypeParam) * 8 - 1);
  test::TracedDraws random(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto x = of_bits<TypeParam>(random.bits());
    ASSERT_EQ(Scalar::of(neg(x)).bits(), Scalar::of(x).bits() ^ kSign);
  }
  EXPECT_EQ(Scalar::of(neg(this->of(0))).bits(), kSign);
}

TYPED_TEST(ScalarFloat, MaxPropagatesNanAndOrdersZeros) {
  const auto one = this->of(1), nan = this->of(kNan), inf = this->of(kInf);
  const auto zero = this->of(0), minus_zero = this->of(-0.0);
  EXPECT_TRUE(same(max(nan, one), nan));
  EXPECT_TRUE(same(max(one, nan), nan));
  EXPECT_TRUE(same(max(nan, inf), nan));
  EXPECT_TRUE(same(max(zero, minus_zero), zero));
  EXPECT_TRUE(same(max(minus_zero, zero), zero));
  EXPECT_TRUE(same(max(minus_zero, minus_zero), minus_zero));
  EXPECT_TRUE(same(max(neg(inf), this->of(-1)), this->of(-1)));
  EXPECT_TRUE(same(max(this->of(-2), this->of(-2)), this->of(-2)));
}

TYPED_TEST(ScalarFloat, ComparesValues) {
  const auto nan = this->of(kNan), zero = this->of(0), minus_zero = this->of(-0.0);
  EXPECT_FALSE(cmpeq(nan, nan));
  EXPECT_FALSE(cmplt(nan, zero));
  EXPECT_FALSE(cmplt(zero, nan));
  EXPECT_TRUE(cmpeq(zero, minus_zero));
  EXPECT_FALSE(cmplt(minus_zero, zero));
  EXPECT_TRUE(cmplt(this->of(-1), minus_zero));
}

TYPED_TEST(ScalarFloat, SpecialValuesFollowIeee754) {
  const auto of = [](double x) { return convert<TypeParam>(x); };
  EXPECT_TRUE(same(recip(of(-0.0)), of(-kInf)));
  EXPECT_TRUE(same(scalar::sqrt(of(-0.0)), of(-0.0)));
  EXPECT_TRUE(same(scalar::sqrt(of(-1)), of(kNan)));
  EXPECT_TRUE(same(div(of(0), of(0)), of(kNan)));
  EXPECT_TRUE(same(div(of(-1), of(0)), of(-kInf)));
  EXPECT_TRUE(same(add(of(-0.0), of(0)), of(0)));
  EXPECT_TRUE(same(mod(of(-6), of(3)), of(-0.0)));
  EXPECT_TRUE(same(mod(of(5), of(kInf)), of(5)));
  EXPECT_TRUE(same(mod(of(5), of(0)), of(kNan)));
  EXPECT_TRUE(same(mod(of(-7), of(4)), of(-3)));
  EXPECT_FALSE(div_is_poison(of(1), of(0)));
  EXPECT_TRUE(same(where(true, of(1), of(kNan)), of(1)));
  if constexpr (has_infinities<TypeParam>) {
    EXPECT_TRUE(same(recip(of(-kInf)), of(-0.0)));
    EXPECT_TRUE(same(scalar::sqrt(of(kInf)), of(kInf)));
    EXPECT_TRUE(same(sub(of(kInf), of(kInf)), of(kNan)));
    EXPECT_TRUE(same(mul(of(kInf), of(0)), of(kNan)));
    EXPECT_TRUE(same(mod(of(kInf), of(2)), of(kNan)));
  } else {
    EXPECT_TRUE(same(sub(of(kInf), of(kInf)), of(0)));  // the largest number, minus itself
  }
}

// Pairs with similar exponents too, so that sums cancel and quotients approach ties.
TYPED_TEST(ScalarFloat, BinaryOpsRoundOnce) {
  test::TracedDraws random(7);
  constexpr int kFraction = info(dtype_v<TypeParam>).digits - 1;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t bits = random.bits();
    const auto a = of_bits<TypeParam>(bits);
    std::uint64_t other = random.bits();
    if (i % 2 == 0) other = bits + ((random.below(16) - 8) << kFraction) + random.below(64);
    const auto b = of_bits<TypeParam>(other);
    const auto check = [&](const char* op, TypeParam got, TypeParam want) {
      ASSERT_TRUE(same(got, want)) << op << " of " << show(a) << ", " << show(b) << ": "
                                   << show(got) << " for " << show(want);
    };
    check("add", add(a, b), in_format<TypeParam>(mpfr_add, a, b));
    check("sub", sub(a, b), in_format<TypeParam>(mpfr_sub, a, b));
    check("mul", mul(a, b), in_format<TypeParam>(mpfr_mul, a, b));
    check("div", div(a, b), in_format<TypeParam>(mpfr_div, a, b));
    if (i % 8 == 0) check("mod", mod(a, b), in_format<TypeParam>(mpfr_fmod, a, b));
  }
}

// Products and quotients with subnormal results.
TYPED_TEST(ScalarFloat, TinyResultsRoundOnce) {
  test::TracedDraws random(8);
  constexpr DTypeInfo kInfo = info(dtype_v<TypeParam>);
  for (int i = 0; i < 50'000; ++i) {
    const int e = random.index(12) - kInfo.digits + kInfo.min_exponent / 2;
    const int f = kInfo.min_exponent - kInfo.min_exponent / 2;
    const auto a = this->of(std::ldexp(random.uniform(1.0, 2.0), e));
    const auto b = this->of(std::ldexp(random.uniform(1.0, 2.0), f));
    ASSERT_TRUE(same(mul(a, b), in_format<TypeParam>(mpfr_mul, a, b))) << show(a) << " " << show(b);
    const auto c = this->of(std::ldexp(random.uniform(1.0, 2.0), -f));
    ASSERT_TRUE(same(div(a, c), in_format<TypeParam>(mpfr_div, a, c))) << show(a) << " " << show(c);
  }
}

// bfloat16 and float have the same exponent range, so a float result near underflow is already
// rounded once. Tests all significands, and all exponents around the least number, against double,
// where rounding does not matter.
TEST(ScalarBfloat16, TinyProductsAndQuotientsAreNotHarmedByFloat) {
  const auto number = [](std::uint32_t significand, int e) {
    return convert<bfloat16>(std::ldexp(static_cast<double>(significand), e - 7));
  };
  const auto exact = [](bfloat16 x) { return static_cast<double>(to_float(x)); };
  for (int e = -139; e <= -125; ++e)
    for (std::uint32_t i = 0x80; i < 0x100; ++i)
      for (std::uint32_t j = 0x80; j < 0x100; ++j) {
        const bfloat16 x = number(i, e / 2), y = number(j, e - e / 2), z = number(j, e / 2 - e);
        ASSERT_EQ(mul(x, y), convert<bfloat16>(exact(x) * exact(y))) << show(x) << " " << show(y);
        ASSERT_EQ(div(x, z), convert<bfloat16>(exact(x) / exact(z))) << show(x) << " " << show(z);
        const bfloat16 least = number(i, e);  // subnormal or nearly so
        ASSERT_EQ(div(least, number(j, 0)), convert<bfloat16>(exact(least) / exact(number(j, 0))));
      }
}

TEST(ScalarMulacc, RoundsTheProductToo) {
  const float x = 1 + 0x1p-12f;  // x * x needs 25 bits
  EXPECT_EQ(mulacc(x, x, -1.0f), 0x1p-11f);
  EXPECT_EQ(std::fma(x, x, -1.0f), 0x1p-11f + 0x1p-24f);
}

template <class T>
void check_sqrt_and_recip_everywhere() {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const T x{static_cast<std::uint16_t>(i)};
    ASSERT_TRUE(same(scalar::sqrt(x), in_format<T>(mpfr_sqrt, x))) << show(x);
    ASSERT_TRUE(same(recip(x), in_format<T>(mpfr_div, convert<T>(1), x))) << show(x);
  }
}

TEST(ScalarFloat16, SqrtAndRecipForEveryPattern) { check_sqrt_and_recip_everywhere<float16>(); }
TEST(ScalarBfloat16, SqrtAndRecipForEveryPattern) { check_sqrt_and_recip_everywhere<bfloat16>(); }

TYPED_TEST(ScalarFloat, SqrtAndRecipRoundOnce) {
  test::TracedDraws random(9);
  for (int i = 0; i < 50'000; ++i) {
    const auto x = of_bits<TypeParam>(random.bits());
    ASSERT_TRUE(same(scalar::sqrt(x), in_format<TypeParam>(mpfr_sqrt, x))) << show(x);
    ASSERT_TRUE(same(recip(x), in_format<TypeParam>(mpfr_div, this->of(1), x))) << show(x);
  }
}

}  // namespace
}  // namespace touchstone::scalar
