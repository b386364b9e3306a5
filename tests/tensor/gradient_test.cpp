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
    const std::string_view name = rule.name;
    const bool bounded =
        name == "asin" || name == "acos" || name == "atanh" || name == "tan" || name == "erfinv";
    expect_gradients([&](const Tensors& x) { return mlops::apply(rule.op, x[0]); },
                     {{some(6, name == "acosh" ? 1.1 : 0.3, bounded ? 0.9 : 3), {2, 3}}});
  }
}

TEST_F(Gradient, OfEveryBinaryStep) {
  for (const mlops::BinaryRule& rule : mlops::binary_rules()) {
    SCOPED_TRACE(rule.name);
    expect_gradients([&](const Tensors& x) { return mlops::apply(rule.op, x[0], x[1]); },
                     {{some(6, 0.3, 3), {2, 3}}, {some(6, 0.3, 3, 2), {2, 3}}});
  }
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
