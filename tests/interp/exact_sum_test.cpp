#include "touchstone/interp/device/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "../support/traced_draws.h"
#include "scalar_reference.h"
#include "touchstone/base/error.h"

namespace touchstone {
namespace {

using test::in_format;
using test::of_bits;
using test::Real;
using test::same;
using test::show;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

template <class T>
ExactSum<T> sum_of(const std::vector<T>& terms) {
  ExactSum<T> s;
  for (const T x : terms) s.add(x);
  return s;
}

// The same by MPFR, with more bits than any sum of doubles needs.
template <class R, class T>
R expected(const std::vector<T>& terms) {
  Real sum(0, 2400);
  for (const T x : terms) mpfr_add_d(sum.get(), sum.get(), convert<double>(x), MPFR_RNDN);
  return in_format<R>([&](mpfr_ptr to, mpfr_rnd_t mode) {
    return mpfr_check_range(to, mpfr_set(to, sum.get(), mode), mode);
  });
}

template <class T>
T negated(T x) {
  return of_bits<T>(Scalar::of(x).bits() ^ (std::uint64_t{1} << (8 * sizeof(T) - 1)));
}

template <class T>
class ExactSumOf : public testing::Test {
 public:
  static T of(double x) { return convert<T>(x); }
  static std::vector<T> list(std::initializer_list<double> xs) {
    std::vector<T> r;
    for (const double x : xs) r.push_back(of(x));
    return r;
  }
  static double sum(std::initializer_list<double> xs) {
    return convert<double>(sum_of(list(xs)).result());
  }
  static constexpr DTypeInfo kInfo = info(dtype_v<T>);
  static std::vector<T> any_finite(test::Draws& random, int n) {
    std::vector<T> r;
    while (static_cast<int>(r.size()) < n) {
      const T x = of_bits<T>(random.bits());
      if (std::isfinite(convert<double>(x))) r.push_back(x);
    }
    return r;
  }
};
using SumFloats = testing::Types<float8_e5m2, float16, bfloat16, float, double>;
TYPED_TEST_SUITE(ExactSumOf, SumFloats);

TYPED_TEST(ExactSumOf, NothingAndZerosHaveTheirSign) {
  EXPECT_TRUE(same(ExactSum<TypeParam>().result(), this->of(0)));
  EXPECT_TRUE(same(sum_of(this->list({-0.0, -0.0})).result(), this->of(-0.0)));
  EXPECT_TRUE(same(sum_of(this->list({-0.0, 0.0})).result(), this->of(0)));
  EXPECT_TRUE(same(sum_of(this->list({1.5, -1.5})).result(), this->of(0)));
  EXPECT_TRUE(same(sum_of(this->list({-1.5, 1.5, -0.0})).result(), this->of(0)));
}

TYPED_TEST(ExactSumOf, SpecialValuesPropagate) {
  EXPECT_TRUE(std::isnan(this->sum({1, kNotANumber, kInfinity})));
  EXPECT_TRUE(std::isnan(this->sum({kInfinity, 1, -kInfinity})));
  EXPECT_EQ(this->sum({kInfinity, 1, kInfinity}), kInfinity);
  EXPECT_EQ(this->sum({-kInfinity, 1}), -kInfinity);
  EXPECT_EQ(sum_of(this->list({kInfinity})).round_down(), kInfinity);
  EXPECT_TRUE(std::isnan(sum_of(this->list({kNotANumber})).round_up()));
}

TYPED_TEST(ExactSumOf, OverflowInBetweenLeavesNoTrace) {
  const double max =
      convert<double>(of_bits<TypeParam>(Scalar::of(this->of(kInfinity)).bits() - 1));
  EXPECT_EQ(this->sum({max, max, -max, -max, 1}), 1.0);
  EXPECT_EQ(this->sum({max, max}), kInfinity);
  EXPECT_EQ(this->sum({-max, -max}), -kInfinity);
  // The tie above the largest number rounds to infinity, anything smaller does not.
  const double half_ulp = std::ldexp(1.0, this->kInfo.max_exponent - this->kInfo.digits);
  EXPECT_EQ(this->sum({max, half_ulp}), kInfinity);
  EXPECT_EQ(this->sum({max, half_ulp, -1}), max);
}

TYPED_TEST(ExactSumOf, SmallTermsSurviveLargeOnes) {
  const double tiny = convert<double>(of_bits<TypeParam>(1));
  const double big = std::ldexp(1.0, this->kInfo.max_exponent);
  EXPECT_EQ(this->sum({tiny, big, -big}), tiny);
  EXPECT_EQ(this->sum({-big, -tiny, big}), -tiny);
  const double ulp = std::ldexp(1.0, 1 - this->kInfo.digits);
  EXPECT_EQ(this->sum({1, ulp / 2}), 1.0);
  EXPECT_EQ(this->sum({1, ulp / 2, tiny}), 1 + ulp);
  EXPECT_EQ(this->sum({1, ulp, ulp / 2, -tiny}), 1 + ulp);
}

TYPED_TEST(ExactSumOf, AgreesWithMpfrAndEveryOrder) {
  test::TracedDraws random(23);
  for (int round = 0; round < 300; ++round) {
    auto terms = this->any_finite(random, 1 + random.index(60));
    if (round % 2 == 0) {  // cancel most of it
      const auto n = terms.size();
      for (std::size_t i = 0; i < n; ++i)
        if (!random.chance(1, 8)) terms.push_back(negated(terms[i]));
    }
    const auto want = expected<TypeParam>(terms);
    ASSERT_TRUE(same(sum_of(terms).result(), want)) << show(want);
    random.shuffle(terms);
    ASSERT_TRUE(same(sum_of(terms).result(), want));
    ASSERT_TRUE(same(sum_of(terms).template result<double>(), expected<double>(terms)));
    ASSERT_TRUE(same(sum_of(terms).template result<bfloat16>(), expected<bfloat16>(terms)));
    ASSERT_TRUE(same(sum_of(terms).template result<float16>(), expected<float16>(terms)));
    ASSERT_EQ(sum_of(terms).round_to(DType::Float32), Scalar::of(expected<float>(terms)));
  }
}

TYPED_TEST(ExactSumOf, MergingIsAddingAllTerms) {
  test::TracedDraws random(29);
  for (int round = 0; round < 200; ++round) {
    auto terms = this->any_finite(random, 40);
    const auto whole = sum_of(terms).result();
    const auto cut = terms.begin() + static_cast<std::ptrdiff_t>(random.below(41));
    auto left = sum_of(std::vector<TypeParam>(terms.begin(), cut));
    left.merge(sum_of(std::vector<TypeParam>(cut, terms.end())));
    ASSERT_TRUE(same(left.result(), whole));
  }
  ExactSum<TypeParam> zero = sum_of(this->list({-0.0}));
  zero.merge(ExactSum<TypeParam>());
  EXPECT_TRUE(same(zero.result(), this->of(-0.0)));
  zero.merge(sum_of(this->list({kInfinity})));
  EXPECT_EQ(convert<double>(zero.result()), kInfinity);
}

TYPED_TEST(ExactSumOf, DirectedResultsEncloseTheSum) {
  test::TracedDraws random(31);
  for (int round = 0; round < 200; ++round) {
    const auto terms = this->any_finite(random, 20);
    Real sum(0, 2400);
    for (const auto x : terms) mpfr_add_d(sum.get(), sum.get(), convert<double>(x), MPFR_RNDN);
    ASSERT_EQ(sum_of(terms).round_down(), mpfr_get_d(sum.get(), MPFR_RNDD));
    ASSERT_EQ(sum_of(terms).round_up(), mpfr_get_d(sum.get(), MPFR_RNDU));
  }
}

// A million equal terms fill up the digits; doubling by merging exceeds any carry.
TYPED_TEST(ExactSumOf, ManyTermsDoNotOverflowTheDigits) {
  ExactSum<TypeParam> s;
  const double third = convert<double>(this->of(1.0 / 3));
  for (int i = 0; i < (1 << 20); ++i) s.add(this->of(third));
  EXPECT_EQ(s.template result<double>(), std::ldexp(third, 20));
  for (int i = 0; i < 40; ++i) s.merge(ExactSum<TypeParam>(s));
  EXPECT_EQ(s.template result<double>(), std::ldexp(third, 60));
  const auto minus = this->of(-third);
  ExactSum<TypeParam> t;
  for (int i = 0; i < 1000; ++i) t.add(minus);
  EXPECT_EQ(t.template result<double>(), -1000 * third);
}

// `n` finite numbers with exponents spread over `binades`; every eighth except the first is a
// signed zero.
template <class T>
std::vector<T> spread_values(test::Draws& random, std::size_t n, std::size_t binades) {
  constexpr DTypeInfo kInfo = info(dtype_v<T>);
  constexpr int kRoom = kInfo.max_exponent - kInfo.min_exponent - 12;
  const int lowest = kInfo.min_exponent + random.index(kRoom + 1);
  std::vector<T> terms;
  while (terms.size() < n) {
    const int exponent = std::min(lowest + random.index(binades + 1), kInfo.max_exponent - 12);
    const double x = std::ldexp(random.uniform(1.0, 2.0), exponent);
    const double sign = random.chance(1, 2) ? 1 : -1;
    terms.push_back(convert<T>(random.chance(1, 8) && !terms.empty() ? sign * 0.0 : sign * x));
  }
  return terms;
}

constexpr std::size_t kLengths[] = {1, 7, 11, 12, 13, 31, 64, 1000, 1023, 1024, 1025, 3000};

TYPED_TEST(ExactSumOf, RunsAgreeWithMpfrAndTermByTerm) {
  using T = TypeParam;
  test::TracedDraws random(37);
  for (const std::size_t binades :
       {0U, 3U, 12U, 18U, 22U, 30U, 45U, 58U, 62U, 75U, 90U, 120U, 2000U})
    for (const std::size_t n : kLengths) {
      const std::vector<T> terms = spread_values<T>(random, n, binades);
      ExactSum<T> run;
      run.add(std::span(terms));
      const auto shown = [&] { return std::to_string(n) + " over " + std::to_string(binades); };
      ASSERT_TRUE(same(run.result(), expected<T>(terms))) << shown();
      ASSERT_TRUE(same(run.template result<float>(), expected<float>(terms))) << shown();
      ASSERT_TRUE(same(run.template result<double>(), expected<double>(terms))) << shown();
      ASSERT_EQ(run.round_down(), sum_of(terms).round_down()) << shown();
      ASSERT_EQ(run.round_up(), sum_of(terms).round_up()) << shown();
    }
}

// Large terms cancel and leave one whose last digit is ever further below theirs, beyond the
// precision of double partial sums, at each of the limits.
TYPED_TEST(ExactSumOf, RunsLoseNothingAtAnyDistance) {
  using T = TypeParam;
  const DTypeInfo kInfo = this->kInfo;
  const T large = this->of(2 - std::ldexp(1.0, 1 - kInfo.digits));
  for (const std::size_t n : {16U, 64U, 256U, 1024U})
    for (int distance = 0; distance <= std::min(-kInfo.min_exponent, 140); ++distance) {
      const T small = this->of(std::ldexp(1 + std::ldexp(1.0, 1 - kInfo.digits), -distance));
      std::vector<T> terms(n, large);
      std::fill(terms.begin() + static_cast<std::ptrdiff_t>(n / 2), terms.end(), negated(large));
      terms[n / 2 - 1] = small;  // among the largest partial sums
      terms[n - 1] = this->of(0);
      ExactSum<T> run;
      run.add(std::span<const T>(terms));
      ASSERT_TRUE(same(run.result(), small)) << n << " terms, 2^-" << distance;
    }
}

TYPED_TEST(ExactSumOf, RunsAndTermsAndMergesAddUp) {
  using T = TypeParam;
  test::TracedDraws random(41);
  for (int round = 0; round < 300; ++round) {
    std::vector<T> all;
    ExactSum<T> sum;
    for (int step = 0; step < 4; ++step) {
      const auto terms = spread_values<T>(random, kLengths[random.below(8)], 40);
      ExactSum<T> other;
      switch (random.below(3)) {
        case 0: sum.add(std::span(terms)); break;
        case 1:
          for (const T x : terms) sum.add(x);
          break;
        default: other.add(std::span(terms)); sum.merge(other);
      }
      all.insert(all.end(), terms.begin(), terms.end());
      if (random.chance(1, 3))  // nearly all of it cancels
        for (T x : std::vector<T>(all)) {
          sum.add(negated(x));
          all.push_back(negated(x));
        }
    }
    ASSERT_TRUE(same(sum.result(), expected<T>(all)));
    ASSERT_TRUE(same(sum.template result<double>(), expected<double>(all)));
  }
}

TYPED_TEST(ExactSumOf, SpecialValuesAndZerosOfRunsAreThoseOfTerms) {
  using T = TypeParam;
  test::TracedDraws random(43);
  const double specials[] = {kInfinity, -kInfinity, kNotANumber};
  for (const std::size_t n : kLengths) {
    std::vector<T> zeros(n, this->of(-0.0));
    ExactSum<T> sum;
    sum.add(std::span<const T>(zeros));
    EXPECT_TRUE(same(sum.result(), this->of(-0.0)));
    zeros[random.below(n)] = this->of(0.0);
    sum.add(std::span<const T>(zeros));
    EXPECT_TRUE(same(sum.result(), this->of(0.0)));
    for (int round = 0; round < 6; ++round) {
      auto terms = spread_values<T>(random, n, 20);
      for (int k = 0; k < 1 + round / 3; ++k)
        terms[random.below(n)] = this->of(specials[random.below(3)]);
      ExactSum<T> run;
      run.add(std::span<const T>(terms));
      EXPECT_TRUE(same(run.result(), sum_of(terms).result()));
    }
    // Cancelling terms leave +0, and the least subnormal beside them shows.
    auto terms = spread_values<T>(random, n, 20);
    for (std::size_t i = terms.size(); i-- > 0;) terms.push_back(negated(terms[i]));
    ExactSum<T> run;
    run.add(std::span<const T>(terms));
    EXPECT_TRUE(same(run.result(), this->of(0)));
    terms.push_back(of_bits<T>(1));
    ExactSum<T> tiny;
    tiny.add(std::span<const T>(terms));
    EXPECT_TRUE(same(tiny.result(), of_bits<T>(1)));
  }
}

TEST(ExactSum, RoundsOnlyToFloats) {
  EXPECT_THROW(ExactSum<float>().round_to(DType::Int32), DTypeError);
}

}  // namespace
}  // namespace touchstone
