// Sums whose partial sums may exceed the largest number, compared with all orders by enumeration.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "../support/traced_draws.h"
#include "kernels.h"
#include "touchstone/interp/oracle/explain.h"

namespace touchstone {
namespace {

using test::buffer;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Reached {
  std::set<float> numbers;
  bool nan = false;
};

// The results of all trees over the terms, each addition rounded.
Reached reached(const std::vector<float>& terms) {
  if (terms.size() == 1) return {{terms[0]}, std::isnan(terms[0])};
  Reached all;
  for (unsigned apart = 1; apart < 1U << (terms.size() - 1); ++apart) {
    std::vector<float> left{terms[0]}, right;
    for (std::size_t i = 1; i < terms.size(); ++i)
      ((apart >> (i - 1) & 1U) != 0 ? right : left).push_back(terms[i]);
    const Reached one = reached(left), other = reached(right);
    all.nan = all.nan || one.nan || other.nan;
    for (const float a : one.numbers)
      for (const float b : other.numbers) {
        const float sum = a + b;
        all.nan = all.nan || std::isnan(sum);
        if (!std::isnan(sum)) all.numbers.insert(sum);
      }
  }
  return all;
}

LegalScalars legal_sum(const std::vector<float>& terms, const Profile& profile = {}) {
  const auto count = static_cast<std::int64_t>(terms.size());
  const LazyOpPtr kernel = test::store(LazyOp::reduce(
      Op::ReduceSum, LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({count})), {0}));
  const std::vector<BufferPtr> buffers{nullptr, buffer(terms)};
  const std::int64_t at[] = {0};
  return explain(kernel, test::raw(buffers), at, profile).back().legal;
}

TEST(OverflowingSums, AllowWhatSomeOrderReachesAndNoOtherInfinity) {
  constexpr float kPool[] = {3e38F,   -3e38F,   2e38F,     -2e38F,    1e38F, -1e38F,
                             1.0F,    -1.0F,    1e30F,     -1e30F,    0.0F,  1e37F,
                             3.1e38F, -2.5e38F, kInfinity, -kInfinity};
  int infinite = 0, mixed = 0;
  for (unsigned draw = 0; draw < 3'000; ++draw) {
    test::TracedDraws random(1, draw);
    std::vector<float> terms;
    // Sometimes an infinity.
    const std::size_t from = std::size(kPool) - (random.chance(1, 8) ? 0 : 2);
    for (std::size_t n = 2 + random.below(4); n > 0; --n)
      terms.push_back(kPool[random.below(from)]);
    const Reached right = reached(terms);
    const LegalScalars legal = legal_sum(terms);
    const auto text = [&] {
      std::string r;
      for (const float t : terms) r += std::to_string(t) + " ";
      return r + "may be " + legal.str();
    };
    for (const float x : right.numbers)
      EXPECT_TRUE(legal.accepts(Scalar::of(x))) << x << " of " << text();
    for (const float x : {kInfinity, -kInfinity})
      EXPECT_EQ(legal.accepts(Scalar::of(x)), right.numbers.contains(x)) << x << " of " << text();
    EXPECT_EQ(legal.accepts(Scalar::of(kNaN)), right.nan) << text();
    const bool up = right.numbers.contains(kInfinity), down = right.numbers.contains(-kInfinity);
    infinite += up || down ? 1 : 0;
    mixed += up && down ? 1 : 0;
  }
  EXPECT_GT(infinite, 500);
  EXPECT_GT(mixed, 20);
}

// The largest number stays if only terms of the other sign accompany it.
TEST(OverflowingSums, KeepTheLargestNumber) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const LegalScalars row = legal_sum({-1e38F, -2e38F, kLargest, 0});
  for (const float x : {kInfinity, -kInfinity, kNaN, 1.0F, kLargest})
    EXPECT_FALSE(row.accepts(Scalar::of(x))) << x;
  EXPECT_TRUE(row.accepts(Scalar::of((kLargest - 1e38F) - 2e38F)));
  // Two that exceed it together, in any order.
  const LegalScalars two = legal_sum({2e38F, 2e38F, -1});
  EXPECT_TRUE(two.accepts(Scalar::of(kInfinity)));
  EXPECT_FALSE(two.accepts(Scalar::of(-kInfinity)) || two.accepts(Scalar::of(kNaN)));
}

// If digits are dropped, a sum that exceeds the largest number may stay there and continue.
TEST(OverflowingSums, MayEndAtTheLargestNumberWhereDigitsAreDropped) {
  Profile drops;
  drops.truncates_sums = true;
  constexpr float kLargest = std::numeric_limits<float>::max();
  const LegalScalars sum = legal_sum({3e38F, 2e38F, -1e38F}, drops);
  for (const float x : {kLargest - 1e38F, kInfinity, (3e38F - 1e38F) + 1e38F})
    EXPECT_TRUE(sum.accepts(Scalar::of(x))) << x;
  EXPECT_FALSE(legal_sum({1e38F, 2e38F, -1e38F}, drops).accepts(Scalar::of(kInfinity)));
}

// 1 / (x * x) of zeros is an infinity of either sign where a zero may have either.
TEST(OverflowingSums, OneInfinityOfEitherSignMeetsNoOther) {
  Profile alike;
  alike.zeros_alike = true;
  const auto legal_of = [&](const std::vector<float>& x) {
    const LazyOpPtr load = LazyOp::load(
        1, DType::Float32, ShapeTracker::contiguous({static_cast<std::int64_t>(x.size())}));
    const LazyOpPtr terms = LazyOp::unary(Op::Recip, LazyOp::binary(Op::Mul, load, load));
    const std::vector<BufferPtr> buffers{nullptr, buffer(x)};
    const std::int64_t at[] = {0};
    return explain(test::store(LazyOp::reduce(Op::ReduceSum, terms, {0})), test::raw(buffers), at,
                   alike)
        .back()
        .legal;
  };
  for (const std::vector<float>& x : {std::vector<float>{0, 2, 3}, {2, 0}, {1, 4, 0, 2, 3}}) {
    const LegalScalars one = legal_of(x);
    for (const float v : {kInfinity, -kInfinity}) EXPECT_TRUE(one.accepts(Scalar::of(v)));
    for (const float v : {kNaN, 1.0F, 3e38F}) EXPECT_FALSE(one.accepts(Scalar::of(v))) << v;
  }
  const LegalScalars two = legal_of({0, 2, 0});
  for (const float v : {kInfinity, -kInfinity, kNaN}) EXPECT_TRUE(two.accepts(Scalar::of(v)));
  // Other terms that may exceed the largest number meet it.
  EXPECT_TRUE(legal_of({0, 6e-20F, 6e-20F}).accepts(Scalar::of(kNaN)));
}

// Sums of doubles whose magnitudes together exceed the largest number.
TEST(OverflowingSums, OfDoublesKnowTheirSides) {
  const LazyOpPtr kernel = test::store(LazyOp::reduce(
      Op::ReduceSum, LazyOp::load(1, DType::Float64, ShapeTracker::contiguous({3})), {0}));
  const std::vector<BufferPtr> buffers{nullptr, buffer<double>({1.5e308, -1e308, 1e290})};
  const std::int64_t at[] = {0};
  const LegalScalars legal = explain(kernel, test::raw(buffers), at).back().legal;
  EXPECT_TRUE(legal.accepts(Scalar::of(1.5e308 - 1e308 + 1e290)));
  EXPECT_FALSE(legal.accepts(Scalar::of(std::numeric_limits<double>::infinity())));
  EXPECT_FALSE(legal.accepts(Scalar::of(-std::numeric_limits<double>::infinity())));
  EXPECT_FALSE(legal.accepts(Scalar::of(std::numeric_limits<double>::quiet_NaN())));
}

TEST(OverflowingSums, AReferenceIsWhatTheReferenceGives) {
  const LazyOpPtr kernel = test::store(LazyOp::reduce(
      Op::ReduceSum, LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({2})), {0}));
  const std::int64_t at[] = {0};
  const std::vector<BufferPtr> buffers{nullptr, buffer<float>({1, -1})};
  EXPECT_EQ(explain(kernel, test::raw(buffers), at).back().reference, Scalar::of(0.0F));
}

}  // namespace
}  // namespace touchstone
