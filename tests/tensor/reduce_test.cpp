#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "../support/traced_draws.h"
#include "tensor_check.h"
#include "touchstone/device/config.h"

namespace touchstone {
namespace {

class Reduce : public OnDevice {};
TOUCHSTONE_ON_DEVICES(Reduce);

TEST_P(Reduce, SumMeanMaxMinOverAxes) {
  const Tensor x = make({1, 2, 3, 4, 5, -6}, {2, 3});
  expect_near({{x.sum(), {9}},
               {x.sum({0}), {5, 7, -3}},
               {x.mean({1}), {2, 1}},
               {x.max({-1}), {3, 5}},
               {x.min(), {-6}}});
  EXPECT_EQ(x.sum({0}).shape(), (Shape{3}));
  EXPECT_EQ(x.sum({0, 1}, KeepDim::Yes).shape(), (Shape{1, 1}));
  EXPECT_EQ(x.max().shape(), Shape{});
}

TEST_P(Reduce, NarrowIntegersAndBoolsAreSummedIn32Bits) {
  EXPECT_EQ(Tensor::full({300}, true, {DType::Bool, device()}).contiguous().sum().item<int>(), 300);
  EXPECT_EQ(Tensor::full({4}, 200, {DType::UInt8, device()}).sum().item<std::uint32_t>(), 800u);
  const Tensor halves = Tensor::full({4096}, 1, {DType::Float16, device()}).contiguous();
  EXPECT_EQ(to_float(halves.sum().item<float16>()), 4096);
}

TEST_P(Reduce, MinOfIntegersKnowsTheLeast) {
  const auto least = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(Tensor::from<std::int32_t>({5, least, 7}, {3}, device()).min().item<int>(), least);
  EXPECT_EQ(Tensor::from<std::uint8_t>({5, 0, 255}, {3}, device()).min().item<std::uint8_t>(), 0);
  EXPECT_FALSE(Tensor::from<bool>({true, false}, {2}, device()).min().item<bool>());
}

TEST_P(Reduce, ArgmaxIsTheFirstOfTheLargest) {
  const Tensor x = make({1, 5, 5, 7, 0, 7}, {2, 3});
  EXPECT_EQ(x.argmax(1).read<int>(), (std::vector{1, 0}));
  EXPECT_EQ(x.argmax(0).read<int>(), (std::vector{1, 0, 1}));
}

TEST_P(Reduce, SplitReducesGiveTheSameSum) {
  const std::int64_t n = 40960;
  const Doubles x = some(n);
  double total = 0;
  for (const double v : x) total += v;
  expect_near(make(x, {n}).sum(), {total}, 1e-9);
}

// The sum of squares around the float32 mean, in double, in two passes.
double squares_round_mean(const std::vector<float>& all) {
  long double sum = 0, squares = 0;
  for (const float v : all) sum += v;
  const long double mean = sum / static_cast<long double>(all.size());
  for (const float v : all) squares += (v - mean) * (v - mean);
  return static_cast<double>(squares);
}

TEST_P(Reduce, VariancesOfManyElementsReadThemOnce) {
  test::TracedDraws random(7);
  for (const double mean : {0.0, 3.0, -1e3, 1e6 + 0.03}) {
    for (const std::int64_t n : {32768, 40961, 65536}) {  // 40961 is a prime
      std::vector<float> all;
      for (std::int64_t i = 0; i < n; ++i)
        all.push_back(static_cast<float>(mean + random.normal<double>()));
      const double right = squares_round_mean(all) / static_cast<double>(n - 1);
      const Tensor x = Tensor::from(all, {n}, device());
      const double may = 1e-7 * right;
      EXPECT_NEAR(x.var().item<float>(), right, may) << mean << ' ' << n;
      const double root = std::sqrt(squares_round_mean(all) / static_cast<double>(n));
      EXPECT_NEAR(x.std({0}, 0).item<float>(), root, 1e-7 * root) << mean << ' ' << n;
      const Tensor apart = (x - x.mean()).square().sum() / static_cast<double>(n - 1);
      EXPECT_LE(std::fabs(x.var().item<float>() - right),
                std::fabs(apart.item<float>() - right) + 1e-7 * right)
          << "two passes of float32 were closer: " << mean << ' ' << n;
    }
  }
}

TEST_P(Reduce, VariancesOfFewElementsAreThoseOfMany) {
  Config config = Config::current();
  config.reduceop_split_threshold = 2;
  const ConfigScope scope(config);
  const float inf = std::numeric_limits<float>::infinity();
  const auto var = [&](std::vector<float> all, std::int64_t correction = 1) {
    const auto n = static_cast<std::int64_t>(all.size());
    return Tensor::from(std::move(all), {n}, device()).var({0}, correction).item<float>();
  };
  EXPECT_EQ(var({1, 2, 3, 6}, 0), 3.5F);
  EXPECT_EQ(var({1e30F, -1e30F}, 0), inf);
  EXPECT_EQ(var({1e18F, -1e18F}, 0), 1e18F * 1e18F);
  EXPECT_EQ(var({0.1F, 0.1F, 0.1F}), 0.0F);
  EXPECT_TRUE(std::isnan(var({1, inf})));
  EXPECT_TRUE(std::isnan(var({1, std::nanf("")})));
  EXPECT_EQ(var({1, 2}, 2), inf);
  EXPECT_TRUE(std::isnan(var({1, 1}, 5)));
}

TEST_P(Reduce, VariancesOfManyElementsHaveTheSameGradients) {
  Config config = Config::current();
  Doubles values;
  for (int i = 0; i < 24; ++i) values.push_back((i * i) % 7 - 2.5);
  std::vector<std::vector<float>> found;
  for (const std::int64_t threshold : {std::int64_t{1} << 40, std::int64_t{2}}) {
    config.reduceop_split_threshold = threshold;
    const ConfigScope scope(config);
    Tensor x = make(values, {4, 6}).cast(DType::Float32).detach();
    x.set_requires_grad();
    (x.var({1}) * Tensor::arange(1, 5, 1, {DType::Float32, device()})).sum().backward();
    found.push_back(x.grad()->read<float>());
  }
  for (std::size_t i = 0; i < 24; ++i) EXPECT_NEAR(found[0][i], found[1][i], 1e-6) << i;
}

TEST_P(Reduce, MatmulOfAllRanks) {
  const Tensor a = make({1, 2, 3, 4, 5, 6}, {2, 3}), b = make({1, 0, 2, 1, 0, 3}, {3, 2});
  const Tensor v = make({1, 2, 3}, {3});
  const Tensor batch = Tensor::stack({a, a + 1}).contiguous();
  expect_near({{a.matmul(b), {5, 11, 14, 23}},
               {a.matmul(v), {14, 32}},
               {v.matmul(b), {5, 11}},
               {v.matmul(v), {14}},
               {batch.matmul(b), {5, 11, 14, 23, 8, 15, 17, 27}}});
  EXPECT_EQ(a.matmul(v).shape(), Shape{2});
  EXPECT_EQ(v.matmul(v).shape(), Shape{});
  EXPECT_EQ(batch.matmul(b).shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(batch.matmul(v).shape(), (Shape{2, 2}));
  EXPECT_EQ(v.matmul(Tensor::stack({b, b, b})).shape(), (Shape{3, 2}));
  EXPECT_EQ(batch.unsqueeze(1).matmul(Tensor::stack({b, b, b})).shape(), (Shape{2, 3, 2, 2}));
}

TEST(CrossEntropy, RefusesLabelsAndSharesThatAreNone) {
  register_devices();
  const Tensor logits = Tensor::zeros({1, 2}), label = Tensor::from<int>({0}, {1});
  EXPECT_THROW(one_hot(logits, 3), DTypeError);
  EXPECT_THROW(cross_entropy(logits, label, {.label_smoothing = 1.5}), Error);
}

}  // namespace
}  // namespace touchstone
