#include "touchstone/interp/device/exact_dot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "../support/traced_draws.h"
#include "scalar_reference.h"
#include "touchstone/base/error.h"
#include "touchstone/interp/device/bits.h"
#include "touchstone/interp/device/scalar_arith.h"

namespace touchstone {
namespace {

using test::in_format;
using test::of_bits;
using test::Real;
using test::same;
using test::show;

template <class T>
using Pairs = std::vector<std::pair<T, T>>;

template <class T>
T dot(const Pairs<T>& pairs) {
  ExactDot<T> sum;
  for (const auto& [a, b] : pairs) sum.add(a, b);
  return sum.result();
}

// With more bits than any sum of products of doubles needs.
template <class T>
T expected(const Pairs<T>& pairs) {
  const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  mpfr_set_emin(mpfr_get_emin_min());
  mpfr_set_emax(mpfr_get_emax_max());
  Real sum(pairs.empty() ? 0.0 : -0.0, 4600), product(0, 120);
  for (const auto& [a, b] : pairs) {
    Real y(convert<double>(b));
    mpfr_mul_d(product.get(), y.get(), convert<double>(a), MPFR_RNDN);
    mpfr_add(sum.get(), sum.get(), product.get(), MPFR_RNDN);
  }
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  return in_format<T>([&](mpfr_ptr to, mpfr_rnd_t mode) {
    return mpfr_check_range(to, mpfr_set(to, sum.get(), mode), mode);
  });
}

template <class T>
class ExactDotOf : public testing::Test {
 public:
  static T of(double x) { return convert<T>(x); }
  static Pairs<T> any_finite(test::Draws& random, std::size_t n) {
    Pairs<T> pairs;
    while (pairs.size() < n) {
      const T a = of_bits<T>(random.bits()), b = of_bits<T>(random.bits());
      if (std::isfinite(convert<double>(a)) && std::isfinite(convert<double>(b)))
        pairs.emplace_back(a, b);
    }
    return pairs;
  }
};
using DotFloats = testing::Types<float8_e4m3, float8_e5m2, float16, bfloat16, float, double>;
TYPED_TEST_SUITE(ExactDotOf, DotFloats);

TYPED_TEST(ExactDotOf, RoundsTheExactSumOfProductsOnce) {
  using T = TypeParam;
  test::TracedDraws random(31);
  for (int i = 0; i < 2'000; ++i) {
    Pairs<T> pairs = this->any_finite(random, 1 + random.below(12));
    if (i % 2 == 0) {  // the first products cancel
      const std::size_t n = pairs.size();
      for (std::size_t k = 0; k + 1 < n; ++k) {
        const auto [a, b] = pairs[k];
        pairs.emplace_back(scalar::neg(a), b);
      }
      random.shuffle(pairs);
    }
    ASSERT_TRUE(same(dot(pairs), expected(pairs)))
        << show(dot(pairs)) << " for " << show(expected(pairs));
  }
}

TYPED_TEST(ExactDotOf, OrderDoesNotMatter) {
  using T = TypeParam;
  test::TracedDraws random(37);
  for (int i = 0; i < 200; ++i) {
    Pairs<T> pairs = this->any_finite(random, 40);
    const T whole = dot(pairs);
    random.shuffle(pairs);
    ASSERT_TRUE(same(dot(pairs), whole));
  }
}

TYPED_TEST(ExactDotOf, ZerosAndSpecialValues) {
  using T = TypeParam;
  const T one = this->of(1), zero = this->of(0), minus_zero = this->of(-0.0);
  const T nan = this->of(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(same(dot<T>({}), zero));
  EXPECT_TRUE(same(dot<T>({{one, minus_zero}, {minus_zero, one}}), minus_zero));
  EXPECT_TRUE(same(dot<T>({{one, minus_zero}, {zero, one}}), zero));
  EXPECT_TRUE(same(dot<T>({{one, one}, {one, nan}}), nan));
  if constexpr (has_infinities<T>) {
    const T inf = this->of(std::numeric_limits<double>::infinity());
    EXPECT_TRUE(same(dot<T>({{inf, one}, {one, one}}), inf));
    EXPECT_TRUE(same(dot<T>({{inf, zero}}), nan));
    EXPECT_TRUE(same(dot<T>({{inf, one}, {scalar::neg(inf), one}}), nan));
  }
}

// 2^17 squares of the largest number, and as many that cancel them.
TYPED_TEST(ExactDotOf, ManyProductsDoNotOverflowTheDigits) {
  using T = TypeParam;
  const T most = of_bits<T>(kLargestBits<T>);
  ExactDot<T> sum;
  for (int i = 0; i < (1 << 17); ++i) sum.add(most, most);
  for (int i = 0; i < (1 << 17); ++i) sum.add(scalar::neg(most), most);
  sum.add(this->of(1.5), this->of(1));
  EXPECT_TRUE(same(sum.result(), this->of(1.5)));
}

TEST(ExactDot, BitsAnswers) {
  const std::pair<const char*, const char*> kCases[] = {
      {"dot\tfloat32\t7f7fffff,7f7fffff,ff7fffff,7f7fffff,3f800000,3f800000", "3f800000"},
      {"dot\tfloat32\t3f800800,3f800800,bf800000,3f800000", "3a000400"},  // one rounding
      {"dot\tfloat64", "0000000000000000"},
      {"dot\tint8\t100,2,1,1", "-55"},
      {"dot\tbool\t1,1,0,1", "1"},
  };
  for (const auto& [question, answer] : kCases)
    EXPECT_EQ(bits_answer(question), answer) << question;
  EXPECT_THROW(bits_answer("dot\tfloat32\t00000000"), ShapeError);
}

}  // namespace
}  // namespace touchstone
