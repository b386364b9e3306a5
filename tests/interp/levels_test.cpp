#include <gtest/gtest.h>

#include "../support/traced_draws.h"
#include "kernels.h"
#include "touchstone/interp/device/scalar_ops.h"
#include "touchstone/interp/oracle/find_order.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone {
namespace {

using test::buffer;

// Rows of eight floats with three sums each: exact, in sequence, and in sequence with every other
// addition truncated.
struct Sums {
  std::vector<float> terms, exact, in_turn, cut;

  explicit Sums(int rows) {
    test::TracedDraws random(5);
    for (int row = 0; row < rows; ++row) {
      double whole = 0;
      float sum = 0, short_sum = 0;
      for (int i = 0; i < 8; ++i) {
        const float x = random.uniform(1.0F, 2.0F);
        terms.push_back(x);
        whole += static_cast<double>(x);  // exact: 24 digits and three more
        sum += x;
        const double next = static_cast<double>(short_sum) + static_cast<double>(x);
        short_sum = static_cast<float>(next);
        if (i % 2 != 0 && static_cast<double>(short_sum) > next)
          short_sum = std::nextafter(short_sum, 0.0F);
      }
      exact.push_back(static_cast<float>(whole));
      in_turn.push_back(sum);
      cut.push_back(short_sum);
    }
  }
  Verdict judged(const std::vector<float>& answer, std::string_view profile) const {
    const auto rows = static_cast<std::int64_t>(answer.size());
    const LazyOpPtr x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({rows, 8}));
    const std::vector<BufferPtr> inputs{nullptr, buffer(terms)};
    return judge(test::store(LazyOp::reduce(Op::ReduceSum, x, {1})), test::raw(inputs),
                 *buffer(answer), Profile::from_json(profile));
  }
};

TEST(Levels, ExactSumsLeaveOneAnswer) {
  const Sums sums(200);
  EXPECT_EQ(sums.judged(sums.exact, R"({"sum": "exact"})").determined, 200);
  EXPECT_EQ(sums.judged(sums.exact, R"({"sum": "exact"})").outcome, Outcome::Pass);
  EXPECT_EQ(sums.judged(sums.in_turn, R"({"sum": "exact"})").outcome, Outcome::Fail);
  EXPECT_EQ(sums.judged(sums.in_turn, R"({"sum": "sequential"})").outcome, Outcome::Pass);
  EXPECT_EQ(sums.judged(sums.exact, R"({"sum": "sequential"})").outcome, Outcome::Fail);
  EXPECT_EQ(sums.judged(sums.in_turn, "{}").outcome, Outcome::Pass);
}

// Each truncated sum is within some order's bound, but all err on one side.
TEST(Levels, StatisticsSeeWhatNoElementShows) {
  const Sums sums(2000);
  const Verdict each = sums.judged(sums.cut, "{}");
  EXPECT_EQ(each.outcome, Outcome::Pass) << each.str();
  EXPECT_EQ(each.errors, 2000);
  const Verdict together = sums.judged(sums.cut, R"({"most_mean": 0.1})");
  EXPECT_EQ(together.outcome, Outcome::Fail);
  EXPECT_LT(together.mean_error, -0.1);
  EXPECT_NE(together.str().find("mean error"), std::string::npos) << together.str();
  const Verdict rounded = sums.judged(sums.in_turn, R"({"most_mean": 0.1})");
  EXPECT_EQ(rounded.outcome, Outcome::Pass) << rounded.str();
  EXPECT_LT(std::abs(rounded.mean_error), 0.05);
  EXPECT_EQ(sums.judged(sums.in_turn, R"({"most_variance": 0.0001})").outcome, Outcome::Fail);
  const Sums few(999);
  EXPECT_EQ(few.judged(few.cut, R"({"most_mean": 0.1})").outcome, Outcome::Pass);
}

// Rows of terms, and the result of a kind of loop for each.
struct FoundIn {
  FoundOrder order;
  explicit FoundIn(std::int64_t terms, float (*sum)(const float*, std::int64_t)) {
    test::TracedDraws random(9);
    std::vector<float> x, answer;
    for (int row = 0; row < 40; ++row) {
      for (std::int64_t i = 0; i < terms; ++i) x.push_back(random.uniform(-0.25F, 0.75F));
      answer.push_back(sum(x.data() + row * terms, terms));
    }
    const LazyOpPtr load = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({40, terms}));
    const std::vector<BufferPtr> inputs{nullptr, buffer(x)};
    order = find_order(test::store(LazyOp::reduce(Op::ReduceSum, load, {1})), test::raw(inputs),
                       *buffer(answer), {})
                .value();
  }
};

float loop(const float* x, std::int64_t n) {
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}
float four_lanes(const float* x, std::int64_t n) {
  float sums[4] = {};
  for (std::int64_t i = 0; i < n; ++i) sums[i % 4] += x[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
float runs_of_sixteen(const float* x, std::int64_t n) {
  return n <= 16 ? loop(x, n) : runs_of_sixteen(x, n / 2) + runs_of_sixteen(x + n / 2, n - n / 2);
}
float nowhere_near(const float* x, std::int64_t n) { return loop(x, n) * 1.5F; }

TEST(Levels, TheOrderOfSummingIsFoundInTheBits) {
  const FoundOrder in_turn = FoundIn(200, loop).order, lanes = FoundIn(200, four_lanes).order;
  EXPECT_EQ(in_turn.bits, "sequential in float32");
  EXPECT_EQ(in_turn.declare, "\"sequential\"");
  EXPECT_EQ(lanes.bits, "lanes of 4, those pairwise in float32");
  EXPECT_EQ(lanes.declare, R"({"lanes":4})");
  const FoundOrder runs = FoundIn(1000, runs_of_sixteen).order;
  EXPECT_EQ(runs.bits, "pairwise, runs of 16 in float32");
  EXPECT_EQ(runs.declare, R"({"halves":16})");
  const FoundOrder none = FoundIn(200, nowhere_near).order;
  EXPECT_EQ(none.bits + none.declare, "");
  EXPECT_NE(runs.str().find("sharper"), std::string::npos) << runs.str();
}

TEST(Levels, NoOrderIsFoundWhereThereIsNoneToSee) {
  const LazyOpPtr x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({4}));
  const std::vector<BufferPtr> inputs{nullptr, buffer(std::vector<float>(4, 2))};
  EXPECT_FALSE(find_order(test::store(LazyOp::unary(Op::Sqrt, x)), test::raw(inputs),
                          *buffer(std::vector<float>(4, 1)), {}));
}

TEST(Levels, AWeakSumSaysWhatWouldHelp) {
  const std::vector<bfloat16> ones(600, convert<bfloat16>(1.25F));
  const LazyOpPtr x = LazyOp::load(1, DType::BFloat16, ShapeTracker::contiguous({2, 300}));
  const std::vector<BufferPtr> inputs{nullptr, buffer(ones)};
  const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, x, {1}, DType::BFloat16);
  const Verdict weak = judge(test::store(sum), test::raw(inputs),
                             *buffer(std::vector<bfloat16>(2, convert<bfloat16>(300.0F))));
  EXPECT_EQ(weak.outcome, Outcome::Weak) << weak.str();
  EXPECT_NE(weak.str().find("sums of 300 terms in bfloat16 may lose all digits"), std::string::npos)
      << weak.str();
  EXPECT_NE(weak.str().find("--find-order"), std::string::npos);
}

TEST(Levels, LimitsTravelInJson) {
  const Profile p = Profile::from_json(R"({"most_mean": 0.25, "sum": "exact"})");
  EXPECT_EQ(Profile::from_json(p.to_json()), p);
  EXPECT_THROW(Profile::from_json(R"({"most_mean": -1})"), ParseError);
}

}  // namespace
}  // namespace touchstone
