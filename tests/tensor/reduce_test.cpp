#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

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
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (const double mean : {0.0, 3.0, -1e3, 1e6 + 0.03}) {
    for (const std::int64_t n : {32768, 40961, 65536}) {  // 40961 is a prime
      std::vector<float> all;
      for (std::int64_t i = 0; i < n; ++i) all.push_back(static_cast<float>(mean + normal(random)));
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
  // Adjacent and separate axes; kept ones; sizes of 1.
  Doubles values;
  for (int i = 0; i < 2 * 3 * 1 * 4; ++i) values.push_back((i * i) % 7 - 2.5);
  const Tensor x = make(values, {2, 3, 1, 4}).cast(DType::Float32);
  for (const std::vector<int>& axes :
       {std::vector{0}, {3}, {0, 3}, {1, 2, 3}, {0, 1, 2, 3}, {2, 3}}) {
    const Tensor mean = x.mean(axes, KeepDim::Yes);
    const Tensor wanted = (x - mean).square().mean(axes);
    const Tensor got = x.var(axes, 0), kept = x.var(axes, 0, KeepDim::Yes);
    EXPECT_EQ(got.shape(), wanted.shape());
    EXPECT_EQ(kept.shape(), mean.shape());
    const auto a = got.read<float>(), b = wanted.read<float>();
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6) << i;
  }
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

TEST_P(Reduce, SoftmaxAndItsLogarithmDoNotOverflow) {
  const Tensor x = make({1000, 1001, 1002}, {3});
  const double e0 = std::exp(-2.0), e1 = std::exp(-1.0), s = e0 + e1 + 1;
  expect_near({{softmax(x), {e0 / s, e1 / s, 1 / s}},
               {log_softmax(x), {-2 - std::log(s), -1 - std::log(s), -std::log(s)}}});
}

TEST_P(Reduce, LayernormHasMeanZeroAndVarianceOne) {
  const Doubles x = some(12, -3, 7);
  const Tensor y = layernorm(make(x, {3, 4}), -1, 0);
  expect_near({{y.mean({1}), {0, 0, 0}}, {y.square().mean({1}), {1, 1, 1}}});
}

TEST_P(Reduce, CrossEntropyIsTheMeanOfTheLabelsLogarithms) {
  const Doubles x = some(12, -1, 1);
  const std::vector<int> labels = {2, 0, 3};
  double wanted = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    double s = 0;
    for (std::size_t j = 0; j < 4; ++j) s += std::exp(x[4 * i + j]);
    wanted -= (x[4 * i + static_cast<std::size_t>(labels[i])] - std::log(s)) / 3;
  }
  expect_near(cross_entropy(make(x, {3, 4}), Tensor::from<int>(labels, {3}, device())), {wanted});
  EXPECT_THROW(one_hot(make({1}, {1}), 3), DTypeError);
}

TEST_P(Reduce, CrossEntropySmoothsLabelsAndLeavesRowsOut) {
  const Doubles x = some(12, -1, 1);
  const std::vector<int> labels = {2, -100, 3};
  Doubles wanted;  // by row
  for (std::size_t i = 0; i < 3; ++i) {
    double s = 0, loss = 0;
    for (std::size_t j = 0; j < 4; ++j) s += std::exp(x[4 * i + j]);
    for (std::size_t j = 0; j < 4; ++j)
      loss -= (x[4 * i + j] - std::log(s)) * (static_cast<int>(j) == labels[i] ? 0.925 : 0.025);
    wanted.push_back(labels[i] < 0 ? 0 : loss);
  }
  const Tensor logits = make(x, {3, 4}), at = Tensor::from<int>(labels, {3}, device());
  const auto loss = [&](Reduction reduction) {
    return cross_entropy(logits, at, {0.1, -100, reduction});
  };
  expect_near({{loss(Reduction::None), wanted},
               {loss(Reduction::Sum), {wanted[0] + wanted[2]}},
               {loss(Reduction::Mean), {(wanted[0] + wanted[2]) / 2}}});
  const Tensor classes = Tensor::from<int>({2, 0, 3}, {3}, device());
  expect_near(cross_entropy(logits, classes, CrossEntropyArgs{}),
              {cross_entropy(logits, classes).item<double>()});
  // An impossible class gives no NaN unless it is the label.
  const Tensor never = make({0, -INFINITY}, {1, 2}), first = Tensor::from<int>({0}, {1}, device());
  expect_near(cross_entropy(never, first), {0});
  EXPECT_THROW(cross_entropy(logits, at, {.label_smoothing = 1.5}), Error);
}

RC_GTEST_PROP(Sums, OverAnyAxesEqualAPlainLoop, ()) {
  register_devices();
  Sizes sizes;
  for (std::int64_t rank = any_in(0, 4); rank > 0; --rank) sizes.push_back(any_in(1, 4));
  std::vector<int> axes;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (any_in(0, 1) == 1) axes.push_back(static_cast<int>(i));
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < count(sizes); ++i) values.push_back(i * i % 17 - 8);
  std::map<Sizes, std::int64_t> wanted;  // by the index with the reduced axes at 0
  for (std::int64_t i = 0; i < count(sizes); ++i) {
    Sizes index(sizes.size());
    std::int64_t rest = i;
    for (std::size_t a = sizes.size(); a-- > 0; rest /= sizes[a]) index[a] = rest % sizes[a];
    for (const int a : axes) index[static_cast<std::size_t>(a)] = 0;
    wanted[index] += values[static_cast<std::size_t>(i)];
  }
  std::vector<std::int64_t> flat;
  for (const auto& [index, value] : wanted) flat.push_back(value);
  const Tensor x = Tensor::from<std::int64_t>(values, shape_of(sizes));
  RC_ASSERT(x.sum(axes).read<std::int64_t>() == flat);
  RC_ASSERT(x.sum(axes, KeepDim::Yes).rank() == static_cast<int>(sizes.size()));
}

}  // namespace
}  // namespace touchstone
