#include <gtest/gtest.h>

#include <random>

#include "kernels.h"
#include "touchstone/interp/scalar_ops.h"
#include "touchstone/interp/verdict.h"

namespace touchstone {
namespace {

using test::buffer;

// Rows of eight floats and three sums of each: exact, in turn, and in turn with every addition cut
// towards zero instead of rounded.
struct Sums {
  std::vector<float> terms, exact, in_turn, cut;

  explicit Sums(int rows) {
    std::mt19937_64 random(5);
    for (int row = 0; row < rows; ++row) {
      double whole = 0;
      float sum = 0, short_sum = 0;
      for (int i = 0; i < 8; ++i) {
        const float x = 1 + static_cast<float>(random() >> 40) * 0x1p-24F;
        terms.push_back(x);
        whole += static_cast<double>(x);  // exact: 24 digits and three more
        sum += x;
        const double next = static_cast<double>(short_sum) + static_cast<double>(x);
        short_sum = static_cast<float>(next);
        if (static_cast<double>(short_sum) > next) short_sum = std::nextafter(short_sum, 0.0F);
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

// Each cut sum is within the bound of some order; all of them lie on one side.
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

TEST(Levels, LimitsTravelInJson) {
  const Profile p = Profile::from_json(R"({"most_mean": 0.25, "sum": "exact"})");
  EXPECT_EQ(Profile::from_json(p.to_json()), p);
  EXPECT_THROW(Profile::from_json(R"({"most_mean": -1})"), ParseError);
}

}  // namespace
}  // namespace touchstone
