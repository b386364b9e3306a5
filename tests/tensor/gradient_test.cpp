#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tensor_check.h"
#include "touchstone/tensor/mlops.h"

namespace touchstone {
namespace {

using Tensors = std::vector<Tensor>;

class Gradient : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_devices(); }
};

TEST_F(Gradient, OfEveryUnaryStep) {
  for (const mlops::UnaryRule& rule : mlops::unary_rules()) {
    SCOPED_TRACE(rule.name);
    expect_gradients([&](const Tensors& x) { return mlops::apply(rule.op, x[0]); },
                     {{some(6, 0.3, 3), {2, 3}}});
  }
}

TEST_F(Gradient, OfEveryBinaryStep) {
  for (const mlops::BinaryRule& rule : mlops::binary_rules()) {
    SCOPED_TRACE(rule.name);
    expect_gradients([&](const Tensors& x) { return mlops::apply(rule.op, x[0], x[1]); },
                     {{some(6, 0.3, 3), {2, 3}}, {some(6, 0.3, 3, 2), {2, 3}}});
  }
}

TEST_F(Gradient, OfWhatIsMadeOfThem) {
  const std::vector<std::pair<const char*, Tensor (*)(const Tensors&)>> cases = {
      {"cos", [](const Tensors& x) { return x[0].cos(); }},
      {"rsqrt", [](const Tensors& x) { return x[0].rsqrt(); }},
      {"tanh", [](const Tensors& x) { return x[0].tanh(); }},
      {"gelu", [](const Tensors& x) { return x[0].gelu(); }},
      {"abs", [](const Tensors& x) { return (x[0] - 1.5).abs(); }},
      {"pow", [](const Tensors& x) { return x[0].pow(3) + x[0].pow(-2); }},
      {"where",
       [](const Tensors& x) { return Tensor::where(x[0] < 1.5, x[0] * 3, x[0].square()); }},
      {"minimum", [](const Tensors& x) { return minimum(x[0], 3 - x[0]); }},
      {"softmax", [](const Tensors& x) { return softmax(x[0]); }},
      {"log_softmax", [](const Tensors& x) { return log_softmax(x[0], 0); }},
      {"layernorm", [](const Tensors& x) { return layernorm(x[0]); }},
      {"max", [](const Tensors& x) { return x[0].max({1}); }},
      {"min", [](const Tensors& x) { return x[0].min({0}); }},
      {"mean", [](const Tensors& x) { return x[0].mean(); }},
      {"slice",
       [](const Tensors& x) {
         return x[0].slice({{.step = -1}, {.begin = 2, .step = -2}});
       }},
      {"pad",
       [](const Tensors& x) {
         return x[0].pad({{1, 0}, {0, 2}}).exp();
       }},
      {"cat",
       [](const Tensors& x) {
         return Tensor::cat({x[0], x[0].square()}, 1);
       }},
      {"stack",
       [](const Tensors& x) {
         return Tensor::stack({x[0], x[0].exp()});
       }},
      {"flip", [](const Tensors& x) { return x[0].flip({1}) * x[0]; }},
      {"contiguous", [](const Tensors& x) { return x[0].transpose().contiguous().square(); }},
      {"to", [](const Tensors& x) { return x[0].square().to("CLANG").to("CPU").exp(); }},
      {"cross_entropy",
       [](const Tensors& x) {
         return cross_entropy(x[0], Tensor::from<int>({2, 0}, {2}));
       }},
      {"used often", [](const Tensors& x) { return x[0] * x[0] + x[0] / (x[0] + 1); }},
  };
  for (const auto& [name, f] : cases) {
    SCOPED_TRACE(name);
    expect_gradients(f, {{some(6, 0.3, 3), {2, 3}}});
  }
}

TEST_F(Gradient, OfMatmulAndConvolution) {
  expect_gradients([](const Tensors& x) { return x[0].matmul(x[1]); },
                   {{some(6), {2, 3}}, {some(12, -1, 1, 2), {2, 3, 2}}});
  const auto conv = [](const WindowArgs& args) {
    return [args](const Tensors& x) { return conv2d(x[0], x[1], x[2], args); };
  };
  const std::vector<std::pair<Doubles, Shape>> inputs = {
      {some(16), {1, 1, 4, 4}}, {some(8, -1, 1, 2), {2, 1, 2, 2}}, {some(2), {2}}};
  expect_gradients(conv({}), inputs);
  expect_gradients(conv({.stride = {2, 1}, .padding = {1, 0}}), inputs);
  expect_gradients([](const Tensors& x) { return max_pool2d(x[0], {2, 2}); }, {inputs[0]});
  expect_gradients(
      [](const Tensors& x) {
        return avg_pool2d(x[0], {2, 3}, {{1, 1}});
      },
      {inputs[0]});
}

TEST_F(Gradient, OfBroadcastOperandsIsSummedToTheirShape) {
  expect_gradients([](const Tensors& x) { return x[0] * x[1] + x[2]; },
                   {{some(3), {3, 1}}, {some(4, -1, 1, 2), {4}}, {some(1), {}}});
}

TEST_F(Gradient, OfAMaximumIsSharedByTies) {
  Tensor x = Tensor::from<double>({3, 1, 3, 3}, {4});
  x.set_requires_grad();
  (x.max() * 6).backward();
  EXPECT_EQ(x.grad()->read<double>(), (Doubles{2, 0, 2, 2}));
  Tensor a = Tensor::from<double>({1, 2, 3}, {3}), b = Tensor::from<double>({2, 2, 2}, {3});
  a.set_requires_grad();
  b.set_requires_grad();
  maximum(a, b).sum().backward();
  EXPECT_EQ(a.grad()->read<double>(), (Doubles{0, 0.5, 1}));
  EXPECT_EQ(b.grad()->read<double>(), (Doubles{1, 0.5, 0}));
}

TEST_F(Gradient, OfReluIsZeroAtZero) {
  Tensor x = Tensor::from<double>({-1, 0, 2}, {3});
  x.set_requires_grad();
  x.relu().sum().backward();
  EXPECT_EQ(x.grad()->read<double>(), (Doubles{0, 0, 1}));
}

TEST_F(Gradient, AccumulatesUntilZeroGrad) {
  Tensor x = Tensor::from<double>({2}, {1});
  x.set_requires_grad();
  EXPECT_FALSE(x.grad().has_value());
  x.square().sum().backward();
  x.square().sum().backward();
  EXPECT_EQ(x.grad()->item<double>(), 8);
  x.zero_grad();
  EXPECT_FALSE(x.grad().has_value());
}

TEST_F(Gradient, StopsAtDetachAndComparisons) {
  Tensor x = Tensor::from<double>({2, -3}, {2});
  x.set_requires_grad();
  EXPECT_FALSE((x.detach() * 2).requires_grad());
  EXPECT_FALSE((x < 0).requires_grad());
  ((x < 0).cast(DType::Float64) * x + x.detach() * x).sum().backward();
  EXPECT_EQ(x.grad()->read<double>(), (Doubles{2, -2}));
}

TEST_F(Gradient, OfACastComesBackInTheTypeOfTheSource) {
  Tensor x = Tensor::from<float>({2, -3}, {2});
  x.set_requires_grad();
  (x.cast(DType::Float64) * 0.5).sum().backward();
  EXPECT_EQ(x.grad()->read<float>(), (std::vector{0.5F, 0.5F}));
}

TEST_F(Gradient, OfAVeryDeepGraphNeedsNoDeepStack) {
  Tensor x = Tensor::from<double>({1}, {1});
  x.set_requires_grad();
  Tensor y = x;
  for (int i = 0; i < 20000; ++i) y = -(y * 1.5);
  y.sum().backward();
  const LazyBufferPtr gradient = x.grad()->lazy();
  EXPECT_TRUE(schedule(std::vector{gradient}).empty());  // it is a constant
}

RC_GTEST_PROP(Gradients, OfMovementAndReductionOnAnyShape, ()) {
  register_devices();
  const std::int64_t rows = any_in(1, 3), columns = any_in(1, 3);
  const std::int64_t before = any_in(0, 2), after = any_in(0, 2);
  const std::int64_t step = any_in(1, 2) * (any_in(0, 1) == 0 ? 1 : -1);
  const int axis = static_cast<int>(any_in(0, 1));
  expect_gradients(
      [&](const Tensors& x) {
        const Tensor moved =
            x[0].pad({{before, after}, {0, before}}).slice({{.step = step}}).transpose();
        const Tensor reduced = (moved * moved.sum({axis}, KeepDim::Yes)).sigmoid();
        return reduced.expand({2, moved.size(0), moved.size(1)}).sum({-1 - axis});
      },
      {{some(rows * columns), {rows, columns}}});
}

double derivative(const std::function<Tensor(const Tensor&)>& f, double x) {
  Tensor t = Tensor::full({1}, x, {DType::Float64, "CPU"}).contiguous();
  t.set_requires_grad();
  f(t).sum().backward();
  return t.grad()->item<double>();
}

TEST_F(Gradient, OfPowersIsTheirDerivativeWhereverItHasAValue) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double values[] = {-kInf, -3, -2, -1, -0.5, 0, 0.25, 1, 2, 3.5, kInf, NAN};
  const auto same = [](double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-12 * std::abs(b);
  };
  for (const double x : values)
    for (const double y : {-2.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0}) {
      const auto other = [](double v) { return Tensor::full({1}, v, {DType::Float64, "CPU"}); };
      const double by_x = derivative([&](const Tensor& t) { return pow(t, other(y)); }, x);
      const double want_x = y == 0 ? 0 : y * std::pow(x, y - 1);
      EXPECT_TRUE(same(by_x, want_x)) << x << " to the " << y << ": " << by_x << ", not " << want_x;
      if (y == std::floor(y) || std::isinf(x)) continue;
      const double by_number = derivative([&](const Tensor& t) { return t.pow(y); }, x);
      EXPECT_TRUE(same(by_number, want_x)) << x << " to the " << y;
    }
  for (const double x : values)
    for (const double y : {-1.5, 0.0, 1.0, 2.5}) {
      const auto base = Tensor::full({1}, x, {DType::Float64, "CPU"});
      const double by_y = derivative([&](const Tensor& t) { return pow(base, t); }, y);
      const double want = x == 0 && y >= 0 ? 0 : std::pow(x, y) * std::log(x);
      EXPECT_TRUE(same(by_y, want)) << x << " to the " << y << ": " << by_y << ", not " << want;
    }
}

// NaN is not constant: a NaN result has a NaN gradient, or passes it on.
TEST_F(Gradient, OfNanIsNoZero) {
  for (const mlops::UnaryRule& rule : mlops::unary_rules())
    EXPECT_NE(derivative([&](const Tensor& t) { return mlops::apply(rule.op, t); }, NAN), 0)
        << rule.name;
  const Tensor one = Tensor::full({1}, 1, {DType::Float64, "CPU"}),
               nan = Tensor::full({1}, NAN, {DType::Float64, "CPU"});
  for (const mlops::BinaryRule& rule : mlops::binary_rules())
    for (const bool left : {true, false}) {
      const auto of = [&](const Tensor& other) {
        return [&rule, left, other](const Tensor& t) {
          return left ? mlops::apply(rule.op, t, other) : mlops::apply(rule.op, other, t);
        };
      };
      EXPECT_NE(derivative(of(one), NAN), 0) << rule.name;
      EXPECT_NE(derivative(of(nan), 1), 0) << rule.name;
    }
  using F = Tensor (*)(const Tensor&);
  const std::pair<const char*, F> others[] = {
      {"abs", [](const Tensor& x) { return x.abs(); }},
      {"gelu", [](const Tensor& x) { return x.gelu(); }},
      {"silu", [](const Tensor& x) { return x.silu(); }},
      {"mish", [](const Tensor& x) { return x.mish(); }},
      {"softplus", [](const Tensor& x) { return x.softplus(); }},
      {"softsign", [](const Tensor& x) { return x.softsign(); }},
      {"log_sigmoid", [](const Tensor& x) { return x.log_sigmoid(); }},
      {"elu", [](const Tensor& x) { return x.elu(); }},
      {"selu", [](const Tensor& x) { return x.selu(); }},
      {"leaky_relu", [](const Tensor& x) { return x.leaky_relu(); }},
      {"relu6", [](const Tensor& x) { return x.relu6(); }},
      {"hardtanh", [](const Tensor& x) { return x.hardtanh(); }},
      {"hardsigmoid", [](const Tensor& x) { return x.hardsigmoid(); }},
      {"hardswish", [](const Tensor& x) { return x.hardswish(); }},
      {"clamp", [](const Tensor& x) { return x.clamp(-1, 1); }},
      {"tanh", [](const Tensor& x) { return x.tanh(); }},
      {"max", [](const Tensor& x) { return x.max(); }},
      {"min", [](const Tensor& x) { return x.min(); }},
      {"softmax", [](const Tensor& x) { return softmax(x, 0); }},
      {"var", [](const Tensor& x) { return (x * Tensor::arange(0, 3).cast(x.dtype())).var(); }},
  };
  for (const auto& [name, f] : others) EXPECT_NE(derivative(f, NAN), 0) << name;
}

// The operation called first names the results, forward and backward.
TEST(Origins, AreThoseOfTheOperationThatWasCalled) {
  register_devices();
  const auto named = [](const Tensor& x) {
    const Origin o = x.lazy()->base().origin();
    return std::string(o.gradient ? "gradient of " : "") + (o.name == nullptr ? "" : o.name);
  };
  Tensor x = Tensor::full({2, 3}, 1.5);
  x.set_requires_grad();
  const Tensor y = softmax(x * 0.5, 1);
  EXPECT_EQ(named(y), "softmax");
  EXPECT_EQ(named(x.exp2()), "exp2");
  EXPECT_EQ(named(x.silu()), "silu");
  EXPECT_EQ(named(x + x), "add");
  y.square().sum().backward();
  EXPECT_EQ(named(*x.grad()), "gradient of mul");
  EXPECT_EQ(OriginScope::current().name, nullptr);
  {
    const OriginScope mine("mine");
    EXPECT_EQ(named(log_softmax(x * 0.25, 1)), "mine");
  }
  EXPECT_THROW(x.mean({7}), Error);  // a failed operation leaves no name behind
  EXPECT_EQ(OriginScope::current().name, nullptr);
}

}  // namespace
}  // namespace touchstone
