// Verdicts on some elements of a kernel that is too large.
#include "touchstone/interp/oracle/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include <gmock/gmock.h>

#include "trial.h"

namespace touchstone {
namespace {

using interp::ElementRun;
using interp::make_program;
using interp::Repeats;
using interp::Sample;
using interp::sample_of;

LazyOpPtr product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return formula_to_judge(fmt::format("matmul(a[{},{}], b[{},{}])", m, k, k, n)).ast;
}

std::optional<Sample> drawn(const LazyOpPtr& kernel, const Sampling& sampling) {
  return sample_of(make_program(kernel, Repeats::KeptFunctions), sampling);
}

void expect_in_order(const Sample& sample) {
  std::int64_t last = 0, judged = 0;
  for (const ElementRun& run : sample.runs) {
    EXPECT_LE(last, run.first);
    EXPECT_LT(run.first, run.last);
    last = run.last;
    judged += run.last - run.first;
  }
  EXPECT_LE(last, sample.sampled.of);
  EXPECT_EQ(judged, sample.sampled.judged);
}

TEST(Sample, IsOfNothingThatFits) {
  EXPECT_FALSE(drawn(product(20, 30, 10), {.most = 1e5}));
  EXPECT_FALSE(drawn(product(200, 300, 100), Sampling::all()));
  EXPECT_TRUE(drawn(product(200, 300, 100), {.most = 1e6, .wanted = 3e5}));
  EXPECT_FALSE(drawn(product(200, 300, 100), {.most = 1e6, .wanted = 1e8}))
      << "a sample would cost as much";
}

TEST(Sample, SpreadsElementsOfAProductOverItsRowsColumnsAndTiles) {
  const auto sample = drawn(product(256, 512, 256), {.most = 1e6, .wanted = 3 * 256 * 2048.0});
  ASSERT_TRUE(sample);
  expect_in_order(*sample);
  EXPECT_GT(sample->sampled.judged, 1500);
  EXPECT_LT(sample->sampled.judged, 2600);
  std::set<std::int64_t> rows, columns, tiles;
  for (const ElementRun& run : sample->runs) {
    EXPECT_EQ(run.last, run.first + 1);
    rows.insert(run.first / 512);
    columns.insert(run.first % 512);
    tiles.insert(run.first / 512 / 16 * 32 + run.first % 512 / 16);
  }
  EXPECT_GT(rows.size(), 250U);
  EXPECT_GT(columns.size(), 480U);
  EXPECT_EQ(tiles.size(), 16U * 32U);
  for (const std::int64_t corner : {0, 511, 255 * 512, 256 * 512 - 1})
    EXPECT_TRUE(std::ranges::any_of(sample->runs, [&](const ElementRun& run) {
      return run.first == corner;
    })) << corner;
}

// Of 300 places of a fault, about as many as announced are missed, at most.
TEST(Sample, MissesNoMoreThanItSays) {
  constexpr int kTries = 300;
  const auto below = [](test::Draws& random, std::int64_t n) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n)));
  };
  struct Size {
    std::int64_t rows, columns;
  };
  for (const Size& size : {Size{256, 512}, Size{1, 60'000}, Size{9'000, 5}, Size{300, 300}}) {
    const LazyOpPtr kernel = size.rows == size.columns ? formula_to_judge("softmax(x[300,300])").ast
                                                       : product(size.rows, size.columns, 256);
    const std::int64_t height = std::min<std::int64_t>(size.rows, 16),
                       width = std::min<std::int64_t>(size.columns, 16);
    struct Fault {
      double Sampled::*chance;
      std::int64_t height, width;
    };
    for (const Fault& fault :
         {Fault{&Sampled::element, 1, 1}, Fault{&Sampled::row, 1, size.columns},
          Fault{&Sampled::tile, height, width}}) {
      test::TracedDraws random(5, static_cast<std::uint64_t>(size.rows));
      int missed = 0;
      double announced = 0;
      for (int i = 0; i < kTries; ++i) {
        const auto sample = drawn(kernel, {.most = 1e5,
                                           .wanted = size.rows == size.columns ? 3e4 : 256 * 512.0,
                                           .seed = static_cast<std::uint64_t>(i) + 1});
        ASSERT_TRUE(sample);
        const std::int64_t row = below(random, size.rows + 1 - fault.height),
                           column = below(random, size.columns + 1 - fault.width);
        announced = sample->sampled.*fault.chance;
        EXPECT_EQ(sample->sampled.height, height);
        EXPECT_EQ(sample->sampled.width, width);
        missed += std::ranges::none_of(sample->runs, [&](const ElementRun& run) {
          const std::int64_t r = run.first / size.columns - row,
                             first = run.first % size.columns - column,
                             last = first + run.last - run.first;
          return r >= 0 && r < fault.height && first < fault.width && last > 0;
        });
      }
      const double deviation = std::sqrt(announced * (1 - announced) * kTries);
      EXPECT_LT(missed, announced * kTries + 4 * deviation + 1);
    }
  }
}

// The elements of a row of softmax share its maximum and its sum.
TEST(Sample, TakesWholeRowsThatShareWork) {
  const LazyOpPtr kernel = formula_to_judge("softmax(x[1000,200])").ast;
  const auto sample = drawn(kernel, {.most = 1e4, .wanted = 1e5});
  ASSERT_TRUE(sample);
  expect_in_order(*sample);
  EXPECT_GT(sample->sampled.judged, 20 * 200);
  EXPECT_LT(sample->sampled.judged, 60 * 200);
  for (const ElementRun& run : sample->runs) {
    EXPECT_EQ(run.first % 200, 0);
    EXPECT_EQ(run.last, run.first + 200);
  }
  EXPECT_EQ(sample->runs.front().first, 0);
  EXPECT_EQ(sample->runs.back().last, sample->sampled.of);
}

// Every kind of shape: one axis, axes of size 1, one element.
TEST(Sample, OfOtherShapes) {
  for (const char* const text : {"matmul(a[400], b[400,900])", "matmul(a[1,400], b[400,900])",
                                 "matmul(a[900,400], b[400,1])", "sum(x[7,900,60], axis=1)",
                                 "attention(q[3,40,8], k[3,50,8], v[3,50,8])"}) {
    SCOPED_TRACE(text);
    const auto sample = drawn(formula_to_judge(text).ast, {.most = 1, .wanted = 2e4});
    ASSERT_TRUE(sample);
    expect_in_order(*sample);
    EXPECT_EQ(sample->runs.front().first, 0);
    EXPECT_EQ(sample->runs.back().last, sample->sampled.of);
    EXPECT_GE(sample->sampled.element, 0);
    EXPECT_LE(sample->sampled.row, 1);
  }
  EXPECT_FALSE(drawn(formula_to_judge("sum(x[1000])").ast, {.most = 1}));
}

TEST(Sample, FindsWhatIsWrongInIt) {
  const std::int64_t m = 300, n = 400, k = 50;
  test::TracedDraws random(9);
  std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(n * k));
  for (float& v : a) v = random.normal<float>();
  for (float& v : b) v = random.normal<float>();
  std::vector<float> right(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t t = 0; t < k; ++t)
        sum += a[static_cast<std::size_t>(i * k + t)] * b[static_cast<std::size_t>(t * n + j)];
      right[static_cast<std::size_t>(i * n + j)] = sum;
    }
  const auto verdict = [&](const std::vector<float>& out, const Sampling& sampling) {
    return test::Trial{"matmul(a[300,50], b[50,400])", {a, b}, out}.under(true, {}, sampling);
  };
  const Sampling some{.most = 1e6, .wanted = 1e5};
  const Verdict good = verdict(right, some);
  EXPECT_EQ(good.outcome, Outcome::Pass);
  ASSERT_TRUE(good.sampled);
  EXPECT_EQ(good.checked, good.sampled->judged);
  EXPECT_LT(good.checked, 4000);
  EXPECT_THAT(good.str(),
              testing::HasSubstr("of 120000 elements were judged; a fault of one element is missed "
                                 "with a chance of 9"));
  std::vector<float> tail = right;  // the last row is not written
  std::fill(tail.end() - n, tail.end(), 0.0F);
  const Verdict bad = verdict(tail, some);
  EXPECT_EQ(bad.outcome, Outcome::Fail);
  EXPECT_GT(bad.wrong, 10);
  EXPECT_EQ(bad.at[0], m - 1);
  EXPECT_THAT(bad.str(), testing::HasSubstr(", sampled from 120000; first at (299, "));
  std::vector<float> one = right;
  one[54321] += 1;
  EXPECT_EQ(verdict(one, Sampling::all()).wrong, 1);
  EXPECT_FALSE(verdict(one, Sampling::all()).sampled);
}

}  // namespace
}  // namespace touchstone
