// Sums in accumulators of fewer digits than their type, against devices written out here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "../support/traced_draws.h"
#include "kernels.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone {
namespace {

using Terms = std::vector<float>;

double cut(double x, double unit) { return std::trunc(x / unit) * unit; }
double unit_of(double x, int digits) { return std::ldexp(1.0, std::ilogb(x) - digits + 1); }

// One addition after the other, each rounded or cut to `digits`.
float in_turn(const Terms& terms, int digits, bool truncates) {
  double sum = 0;
  for (const float term : terms) {
    sum += static_cast<double>(term);  // exact: few digits, and exponents that are close
    if (sum == 0) continue;
    const double unit = unit_of(sum, digits);
    sum = truncates ? cut(sum, unit) : std::nearbyint(sum / unit) * unit;
  }
  return static_cast<float>(sum);
}

// A matrix unit: `group` terms and the running sum are cut to a multiple of the last digit of the
// largest, then added exactly, then cut.
float in_groups(const Terms& terms, int digits, std::size_t group) {
  double sum = 0;
  for (std::size_t i = 0; i < terms.size(); i += group) {
    const std::size_t end = std::min(i + group, terms.size());
    double largest = std::abs(sum), next = 0;
    for (std::size_t k = i; k < end; ++k)
      largest = std::max(largest, static_cast<double>(std::abs(terms[k])));
    if (largest == 0) continue;
    const double unit = unit_of(largest, digits);
    next = cut(sum, unit);
    for (std::size_t k = i; k < end; ++k) next += cut(static_cast<double>(terms[k]), unit);
    sum = next == 0 ? 0 : cut(next, unit_of(next, digits));
  }
  return static_cast<float>(sum);
}

Verdict judged(const Terms& terms, const std::vector<float>& results, const Profile& profile) {
  const auto n = static_cast<std::int64_t>(terms.size() / results.size());
  const LazyOpPtr kernel = test::store(LazyOp::reduce(
      Op::ReduceSum,
      LazyOp::load(1, DType::Float32,
                   ShapeTracker::contiguous({static_cast<std::int64_t>(results.size()), n})),
      {1}));
  const std::vector<BufferPtr> buffers{nullptr, test::buffer(terms)};
  const BufferPtr output = test::buffer(results);
  return judge(kernel, test::raw(buffers), *output, profile);
}

Profile with_digits(int digits, bool truncates) {
  Profile profile;
  profile.accumulator_digits = digits;
  profile.truncates_sums = truncates;
  return profile;
}

TEST(AccumulatorDigits, AllowEveryDeviceThatKeepsThem) {
  int seen = 0;
  for (unsigned draw = 0; draw < 400; ++draw) {
    test::TracedDraws random(7, draw);
    const int digits = std::vector{8, 11, 14, 17, 20}[random.below(5)];
    const std::size_t rows = 32, count = 2 + random.below(200);
    const bool truncates = random.chance(1, 2);
    Terms terms;
    for (std::size_t i = 0; i < rows * count; ++i)  // products of 8-bit floats: exact in float32
      terms.push_back(static_cast<float>(static_cast<int>(random.below(481)) - 240) *
                      std::ldexp(1.0F, static_cast<int>(random.below(6))));
    const auto each_row = [&](const std::function<float(const Terms&)>& sum) {
      std::vector<float> results;
      for (std::size_t row = 0; row < rows; ++row)
        results.push_back(sum({terms.begin() + static_cast<std::ptrdiff_t>(row * count),
                               terms.begin() + static_cast<std::ptrdiff_t>((row + 1) * count)}));
      return results;
    };
    const Profile profile = with_digits(digits, truncates);
    const auto turns = each_row([&](const Terms& t) { return in_turn(t, digits, truncates); });
    EXPECT_EQ(judged(terms, turns, profile).wrong, 0) << draw;
    seen += judged(terms, turns, {}).wrong > 0 ? 1 : 0;
    for (const std::size_t group : {4U, 8U, 16U, 32U})
      if (truncates) {
        const auto groups = each_row([&](const Terms& t) { return in_groups(t, digits, group); });
        EXPECT_EQ(judged(terms, groups, profile).wrong, 0) << draw << " in groups of " << group;
      }
  }
  EXPECT_GT(seen, 200);
}

TEST(AccumulatorDigits, AreNotFewerThanDeclared) {
  int wrong = 0;
  for (unsigned draw = 0; draw < 50; ++draw) {
    test::TracedDraws random(8, draw);
    Terms terms;
    for (int i = 0; i < 64 * 24; ++i)
      terms.push_back(static_cast<float>(1 + random.below(4096)) / 64);
    std::vector<float> results;
    for (std::size_t row = 0; row < 64; ++row)
      results.push_back(in_turn({terms.begin() + static_cast<std::ptrdiff_t>(row * 24),
                                 terms.begin() + static_cast<std::ptrdiff_t>((row + 1) * 24)},
                                8, false));
    wrong += judged(terms, results, with_digits(14, false)).wrong > 32 ? 1 : 0;
  }
  EXPECT_EQ(wrong, 50);
}

// Two terms of fewer digits than the accumulator keeps are rounded twice.
TEST(AccumulatorDigits, RoundSumsOfTwoNarrowTermsTwice) {
  const LazyOpPtr kernel = test::store(LazyOp::reduce(
      Op::ReduceSum, LazyOp::load(1, DType::Float16, ShapeTracker::contiguous({1, 2})), {1}));
  const std::vector<BufferPtr> buffers{
      nullptr,
      test::buffer<float16>({convert<float16>(1.0F), convert<float16>(0x1p-11F + 0x1p-20F)})};
  const BufferPtr output = test::buffer<float16>({convert<float16>(1.0F)});
  EXPECT_EQ(judge(kernel, test::raw(buffers), *output, with_digits(14, false)).wrong, 0);
  EXPECT_EQ(judge(kernel, test::raw(buffers), *output, {}).wrong, 1);
}

// As many digits as the type, or more, change nothing; each order with one answer keeps it.
TEST(AccumulatorDigits, BeyondTheTypeChangeNothing) {
  const Terms terms{1.0F, 0x1p-24F, 0x1p-24F, 3.0F};
  for (const int digits : {24, 53}) {
    Profile profile = with_digits(digits, false);
    profile.order = SumOrder::Sequential;
    EXPECT_EQ(judged(terms, {4.0F}, profile).wrong, 0);
    EXPECT_EQ(judged(terms, {std::nextafter(4.0F, 5.0F)}, profile).wrong, 1);
  }
  Profile few = with_digits(3, false);
  few.order = SumOrder::Exact;
  EXPECT_EQ(judged(terms, {4.0F}, few).wrong, 0);
  EXPECT_EQ(judged(Terms{9.0F, 0.0F}, {8.0F}, few).wrong, 0) << "a single term is rounded, too";
}

}  // namespace
}  // namespace touchstone
