// Named functions as one node: rounded once on CPU, near it elsewhere; powers of integers.
#include <cmath>
#include <numbers>

#include "../support/traced_draws.h"
#include "tensor_check.h"
#include "touchstone/lazy/schedule.h"

namespace touchstone {
namespace {

class NamedFunctions : public OnDevice {
 protected:
  Tensor ints(const std::vector<std::int32_t>& values, const Shape& shape) const {
    return Tensor::from<std::int32_t>(values, shape, device());
  }
};
TOUCHSTONE_ON_DEVICES(NamedFunctions);

using Exact = long double;
struct FunctionRow {
  const char* name;
  Tensor (Tensor::*f)() const;
  Exact (*wanted)(Exact);
  double ulp;  // of float32 on other devices
};
Exact sigmoid_of(Exact x) { return 1 / (1 + std::exp(-x)); }
const FunctionRow kFunctionRows[] = {
    {"exp", &Tensor::exp, [](Exact x) { return std::exp(x); }, 1},
    {"log", &Tensor::log, [](Exact x) { return std::log(x); }, 1},
    {"sigmoid", &Tensor::sigmoid, sigmoid_of, 2},
    {"tanh", &Tensor::tanh, [](Exact x) { return std::tanh(x); }, 1.4},
    {"erf", &Tensor::erf, [](Exact x) { return std::erf(x); }, 1.4},
    {"cos", &Tensor::cos, [](Exact x) { return std::cos(x); }, 1},
    {"tan", &Tensor::tan, [](Exact x) { return std::tan(x); }, 1},
    {"erfc", &Tensor::erfc, [](Exact x) { return std::erfc(x); }, 1},
    {"asin", &Tensor::asin, [](Exact x) { return std::asin(x); }, 1},
    {"acos", &Tensor::acos, [](Exact x) { return std::acos(x); }, 1},
    {"atan", &Tensor::atan, [](Exact x) { return std::atan(x); }, 1},
    {"cbrt", &Tensor::cbrt, [](Exact x) { return std::cbrt(x); }, 1},
    {"log1p", &Tensor::log1p, [](Exact x) { return std::log1p(x); }, 6},
};

TEST_P(NamedFunctions, AreRoundedOnceOnCpuAndNearItElsewhere) {
  const double inf = HUGE_VAL;
  test::TracedDraws random(5);
  Doubles points{0, -0.0, 1, -1, inf, -inf, NAN, 1e-5, 1e-40, 88.7, -88.7, -103, 1e6, 3e38};
  for (int i = 0; i < 800; ++i)
    points.push_back((i % 2 == 0 ? 1 : -1) * std::exp2(random.uniform(-20.0, 7.0)));
  const auto count = points.size();
  const std::vector<float> inputs(points.begin(), points.end());
  const Tensor x = Tensor::from<float>(inputs, {count}, device());
  std::vector<Tensor> all;
  for (const FunctionRow& row : kFunctionRows) all.push_back((x.*row.f)().contiguous());
  realize(all);
  for (std::size_t f = 0; f < all.size(); ++f) {
    const std::vector<float> got = all[f].read<float>();
    for (std::size_t i = 0; i < count; ++i) {
      const Exact exact = kFunctionRows[f].wanted(inputs[i]);
      const auto right = static_cast<float>(exact);
      SCOPED_TRACE(fmt::format("{}({})", kFunctionRows[f].name, inputs[i]));
      if (std::isnan(right)) {
        EXPECT_TRUE(std::isnan(got[i])) << got[i];
      } else if (device() == "CPU" || !std::isfinite(right) || exact == 0) {
        EXPECT_EQ(got[i], right);
      } else {
        const Exact unit = std::ldexp(Exact{1}, std::max(std::ilogb(exact), -126) - 23);
        EXPECT_LE(std::abs(got[i] - exact) / unit, kFunctionRows[f].ulp)
            << got[i] << " for " << right;
      }
    }
  }
}

// The derivative at 0, the largest numbers and infinities against a difference quotient in long
// double; at an infinity, its limit.
TEST_P(NamedFunctions, HaveGradientsAtTheEndsOfTheLine) {
  struct Row {
    const char* name;
    Tensor (Tensor::*f)() const;
    Exact (*value)(Exact);
    double above, below;  // limits
  };
  const double inf = HUGE_VAL;
  const auto gelu_of = [](Exact x) { return x / 2 * std::erfc(-x / std::sqrt(Exact{2})); };
  const Row rows[] = {
      {"exp", &Tensor::exp, [](Exact x) { return std::exp(x); }, inf, 0},
      {"expm1", &Tensor::expm1, [](Exact x) { return std::expm1(x); }, inf, 0},
      {"log", &Tensor::log, [](Exact x) { return std::log(x); }, 0, NAN},
      {"log10", &Tensor::log10, [](Exact x) { return std::log10(x); }, 0, NAN},
      {"log1p", &Tensor::log1p, [](Exact x) { return std::log1p(x); }, 0, NAN},
      {"rsqrt", &Tensor::rsqrt, [](Exact x) { return 1 / std::sqrt(x); }, 0, NAN},
      {"sigmoid", &Tensor::sigmoid, sigmoid_of, 0, 0},
      {"silu", &Tensor::silu, [](Exact x) { return x * sigmoid_of(x); }, 1, 0},
      {"tanh", &Tensor::tanh, [](Exact x) { return std::tanh(x); }, 0, 0},
      {"erf", &Tensor::erf, [](Exact x) { return std::erf(x); }, 0, 0},
      {"erfc", &Tensor::erfc, [](Exact x) { return std::erfc(x); }, 0, 0},
      {"softplus", &Tensor::softplus,
       [](Exact x) { return std::max(x, Exact{0}) + std::log1p(std::exp(-std::abs(x))); }, 1, 0},
      {"cos", &Tensor::cos, [](Exact x) { return std::cos(x); }, NAN, NAN},
      {"tan", &Tensor::tan, [](Exact x) { return std::tan(x); }, NAN, NAN},
      {"atan", &Tensor::atan, [](Exact x) { return std::atan(x); }, 0, 0},
      {"asin", &Tensor::asin, [](Exact x) { return std::asin(x); }, NAN, NAN},
      {"acos", &Tensor::acos, [](Exact x) { return std::acos(x); }, NAN, NAN},
      {"sinh", &Tensor::sinh, [](Exact x) { return std::sinh(x); }, inf, inf},
      {"cosh", &Tensor::cosh, [](Exact x) { return std::cosh(x); }, inf, -inf},
      {"asinh", &Tensor::asinh, [](Exact x) { return std::asinh(x); }, 0, 0},
      {"acosh", &Tensor::acosh, [](Exact x) { return std::acosh(x); }, 0, NAN},
      {"cbrt", &Tensor::cbrt, [](Exact x) { return std::cbrt(x); }, 0, 0},
  };
  const std::vector<float> points{1e30F,  -1e30F, 1e6F,      -1e6F,     3.25F,
                                  -3.25F, 0,      HUGE_VALF, -HUGE_VALF};
  const auto check = [&](const char* name, const Tensor& at, const Tensor& y, const auto& value,
                         double above, double below) {
    const std::vector<float> got = gradients(y.sum(), {at})[0].template read<float>();
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Exact x = points[i], h = x == 0 ? Exact{0x1p-20} : std::abs(x) * Exact{0x1p-20};
      Exact wanted = (value(x + h) - value(x - h)) / (2 * h);
      if (std::isinf(x)) wanted = x > 0 ? above : below;
      const auto right = static_cast<float>(wanted);
      const bool pole = x == 0 && !(std::abs(wanted) < 1000);
      const bool waves = std::isnan(above) && std::isfinite(x) && std::abs(x) >= 1e6F;
      if (pole || waves || std::isnan(right)) continue;
      SCOPED_TRACE(fmt::format("{} at {}", name, points[i]));
      if (!std::isfinite(right))
        EXPECT_EQ(got[i], right);
      else
        EXPECT_NEAR(got[i], right, std::max(std::abs(right) * 1e-4, 1e-37)) << right;
    }
  };
  const auto at = [&] {
    return Tensor::from<float>(points, {points.size()}, device()).set_requires_grad();
  };
  for (const Row& row : rows) {
    const Tensor x = at();
    check(row.name, x, (x.*row.f)(), row.value, row.above, row.below);
  }
  const Tensor x = at();
  check("gelu", x, x.gelu(GeluForm::Erf), gelu_of, 1, 0);
  check(
      "gelu_tanh", x, x.gelu(),
      [](Exact v) {
        return v * sigmoid_of(2 * std::sqrt(2 / std::numbers::pi_v<Exact>) *
                              (v + 0.044715L * v * v * v));
      },
      1, 0);
  // Quotients whose squares overflow.
  const Tensor big =
      Tensor::from<float>(std::vector<float>{1e30F}, {1}, device()).set_requires_grad();
  const Tensor one = Tensor::from<float>(std::vector<float>{1e30F}, {1}, device());
  for (const Tensor& y : {one / big, atan2(one, big) * 2})
    EXPECT_FLOAT_EQ(gradients(y.sum(), {big})[0].read<float>()[0], -1e-30F);
}

TEST_P(NamedFunctions, OfTwoOperandsFollowTheCLibrary) {
  const double inf = HUGE_VAL;
  Doubles a, b;
  for (const double x : {0.0, -0.0, 1.0, -1.0, 0.3, -7.0, 1e30, inf, -inf, double{NAN}})
    for (const double y : {0.0, -0.0, 1.0, -1.0, 3.0, 2.5, -4.0, -1e3, inf, -inf, double{NAN}}) {
      a.push_back(x);
      b.push_back(y);
    }
  const Shape shape{sint(static_cast<std::int64_t>(a.size()))};
  const Tensor x = Tensor::from<double>(a, shape, device()).float_(),
               y = Tensor::from<double>(b, shape, device()).float_();
  const auto check = [&](const Tensor& got, double (*wanted)(double, double)) {
    const std::vector<float> values = got.read<float>();
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto right = static_cast<float>(wanted(static_cast<float>(a[i]), b[i]));
      SCOPED_TRACE(fmt::format("of {} and {}", a[i], b[i]));
      if (std::isnan(right)) {
        EXPECT_TRUE(std::isnan(values[i])) << values[i];
      } else {
        EXPECT_FLOAT_EQ(values[i], right);
        EXPECT_EQ(std::signbit(values[i]), std::signbit(right));
      }
    }
  };
  check(pow(x, y), [](double p, double q) { return std::pow(p, q); });
  check(atan2(x, y), [](double p, double q) { return std::atan2(p, q); });
  check(hypot(x, y), [](double p, double q) { return std::hypot(p, q); });
}

TEST_P(NamedFunctions, PowersOfIntegersAreExactAndWrap) {
  const Tensor x = ints({3, -2, 7, 0}, {4});
  EXPECT_EQ(x.pow(5).dtype(), DType::Int32);
  EXPECT_EQ(x.pow(5).read<std::int32_t>(), (std::vector<std::int32_t>{243, -32, 16807, 0}));
  EXPECT_EQ(x.pow(0).read<std::int32_t>(), (std::vector<std::int32_t>{1, 1, 1, 1}));
  const auto wraps = static_cast<std::int32_t>(static_cast<std::uint32_t>(282475249) * 7 * 7);
  EXPECT_EQ(x.pow(12).read<std::int32_t>()[2], wraps);
  const Tensor n = ints({5, -3, 12, 0}, {4});
  EXPECT_EQ(pow(x, n).read<std::int32_t>(), (std::vector<std::int32_t>{243, 0, wraps, 1}));
  EXPECT_EQ(pow(ints({-1, -1, 1, 0}, {4}), n - 1).read<std::int32_t>(),
            (std::vector<std::int32_t>{1, 1, 1, 0}));
  const double square = pow(make({5}, {1}), ints({2}, {1})).item<double>();
  EXPECT_NEAR(square, 25, device() == "CPU" ? 0 : 1e-13);
  EXPECT_EQ(pow(x, 0.5).dtype(), DType::Float32);
  EXPECT_THROW(x.pow(-1), DTypeError);
  EXPECT_THROW(pow(x, Tensor::full({4}, -2, {DType::Int32, device()})), DTypeError);
}

TEST_P(NamedFunctions, AreOneNodeThatKeepsItsName) {
  const Tensor x = Tensor::from<double>({1, 2}, {2}, device());
  for (const auto& [y, name] : {std::pair(x.tanh(), "tanh"), std::pair(x.gelu(), "gelu_tanh"),
                                std::pair(pow(x, 2.5), "pow"), std::pair(x.floor(), "floor")}) {
    const LazyBufferPtr node = y.lazy();
    ASSERT_EQ(node->op(), Op::Function) << name;
    EXPECT_EQ(info(std::get<FunctionArg>(node->arg()).function).name, name);
  }
  EXPECT_EQ(x.square().lazy()->op(), Op::Mul);
  EXPECT_EQ(pow(x, -1).lazy()->op(), Op::Recip);
}

}  // namespace
}  // namespace touchstone
