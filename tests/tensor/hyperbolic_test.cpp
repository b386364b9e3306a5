// expm1, log1p, the hyperbolic functions and functions built from them, against the C library in
// long double.
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>

#include "../support/traced_draws.h"
#include "tensor_check.h"

namespace touchstone {
namespace {

class Hyperbolic : public OnDevice {};
TOUCHSTONE_ON_DEVICES(Hyperbolic);

using Real = long double (*)(long double);
struct CurveRow {
  const char* name;
  std::function<Tensor(const Tensor&)> f;
  Real wanted;
};
const CurveRow kCurves[] = {
    {"expm1", &Tensor::expm1, [](long double x) { return std::expm1(x); }},
    {"log1p", &Tensor::log1p, [](long double x) { return std::log1p(x); }},
    {"sinh", &Tensor::sinh, [](long double x) { return std::sinh(x); }},
    {"cosh", &Tensor::cosh, [](long double x) { return std::cosh(x); }},
    {"asinh", &Tensor::asinh, [](long double x) { return std::asinh(x); }},
    {"acosh", &Tensor::acosh, [](long double x) { return std::acosh(x); }},
    {"atanh", &Tensor::atanh, [](long double x) { return std::atanh(x); }},
    {"tanh", &Tensor::tanh, [](long double x) { return std::tanh(x); }},
    {"softplus", &Tensor::softplus,
     [](long double x) { return std::max(x, 0.0L) + std::log1p(std::exp(-std::abs(x))); }},
    {"log_sigmoid", &Tensor::log_sigmoid,
     [](long double x) { return std::min(x, 0.0L) - std::log1p(std::exp(-std::abs(x))); }},
    {"elu", [](const Tensor& x) { return x.elu(); },
     [](long double x) { return x < 0 ? std::expm1(x) : x; }},
    {"celu", [](const Tensor& x) { return x.celu(); },
     [](long double x) { return x < 0 ? std::expm1(x) : x; }},
    {"selu", [](const Tensor& x) { return x.selu(); },
     [](long double x) {
       return 1.0507009873554804934L * (x < 0 ? 1.6732632423543772848L * std::expm1(x) : x);
     }},
    {"erf", [](const Tensor& x) { return x.erf(); }, [](long double x) { return std::erf(x); }},
};

template <class T>
void expect_close(const std::string& device, double units) {
  const T inf = std::numeric_limits<T>::infinity(), largest = std::numeric_limits<T>::max();
  std::vector<T> points = {T(0),
                           T(1e-8),
                           T(1e-3),
                           T(0.3),
                           T(0.5),
                           T(0.999),
                           T(1),
                           T(1.1),
                           T(1.5),
                           T(2),
                           T(20),
                           T(1) + std::numeric_limits<T>::epsilon(),
                           T(80),
                           T(1e6),
                           largest,
                           inf,
                           std::numeric_limits<T>::min()};
  for (std::size_t i = points.size(); i-- > 0;) points.push_back(-points[i]);
  points.push_back(std::numeric_limits<T>::quiet_NaN());
  const Tensor x = Tensor::from<T>(points, {points.size()}, device);
  std::vector<Tensor> all;
  for (const CurveRow& row : kCurves) all.push_back(row.f(x).contiguous());
  realize(all);
  for (std::size_t f = 0; f < std::size(kCurves); ++f) {
    const std::vector<T> got = all[f].template read<T>();
    for (std::size_t i = 0; i < points.size(); ++i) {
      const long double exact = kCurves[f].wanted(points[i]);
      const T wanted = static_cast<T>(exact);
      SCOPED_TRACE(fmt::format("{}({})", kCurves[f].name, points[i]));
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(got[i])) << got[i];
      } else if (std::isinf(wanted)) {
        EXPECT_EQ(got[i], wanted);
      } else if (wanted == 0) {
        EXPECT_EQ(got[i], 0);
      } else {
        // The error of exp and related functions grows with the argument.
        const long double size = std::abs(static_cast<long double>(points[i]));
        static const std::set<std::string> kGrow = {"expm1", "sinh", "cosh", "softplus",
                                                    "log_sigmoid"};
        const long double growth = kGrow.contains(kCurves[f].name) ? std::min(size, 100.0L) : 0.0L;
        EXPECT_LE(std::abs((static_cast<long double>(got[i]) - exact) / exact),
                  (units + static_cast<double>(growth)) * std::numeric_limits<T>::epsilon())
            << got[i] << " for " << wanted;
      }
    }
  }
}

TEST_P(Hyperbolic, IsNearTheLimitOfItsTypeEverywhere) {
  expect_close<double>(device(), 6);
  expect_close<float>(device(), 6);
}

// Both signs, several per power of two from the least number to 2: tests relative errors where the
// result approaches 0 with x, or is unaffected by x.
template <class T>
void expect_close_near_zero(const std::string& device, double units) {
  test::TracedDraws random(3);
  std::vector<T> points;
  using Limits = std::numeric_limits<T>;
  for (int power = Limits::min_exponent - Limits::digits; power <= 1; ++power)
    for (int i = 0; i < 4; ++i) {
      const T x = std::ldexp(static_cast<T>(random.uniform(1.0, 2.0)), power);
      points.push_back(i % 2 == 0 ? x : -x);
    }
  const Tensor x = Tensor::from<T>(points, {points.size()}, device);
  std::vector<Tensor> all;
  for (const CurveRow& row : kCurves) all.push_back(row.f(x).contiguous());
  realize(all);
  for (std::size_t f = 0; f < std::size(kCurves); ++f) {
    const std::vector<T> got = all[f].template read<T>();
    for (std::size_t i = 0; i < points.size(); ++i) {
      const long double exact = kCurves[f].wanted(points[i]);
      if (std::isnan(exact)) continue;
      const long double unit = std::max<long double>(
          std::abs(exact) * Limits::epsilon(), static_cast<long double>(Limits::denorm_min()));
      EXPECT_LE(std::abs(static_cast<long double>(got[i]) - exact), units * unit)
          << kCurves[f].name << '(' << points[i] << ") is " << got[i];
    }
  }
}

TEST_P(Hyperbolic, IsAsExactNearZeroAsElsewhere) {
  expect_close_near_zero<double>(device(), 6);
  expect_close_near_zero<float>(device(), 6);
}

TEST_P(Hyperbolic, KeepsTheSignOfZeroAndComputesNarrowTypesInFloat32) {
  const Tensor zero = make({-0.0}, {1});
  for (const auto f : {&Tensor::sinh, &Tensor::asinh, &Tensor::atanh, &Tensor::expm1,
                       &Tensor::log1p, &Tensor::tanh, &Tensor::erf})
    EXPECT_TRUE(std::signbit((zero.*f)().item<double>()));
  const Tensor half = make({0.01}, {1}).half();
  EXPECT_EQ(half.sinh().dtype(), DType::Float16);
  EXPECT_NEAR(half.sinh().float_().item<float>(), std::sinh(half.float_().item<float>()), 1e-5);
  EXPECT_EQ(Tensor::from({1, 2}).cosh().dtype(), DType::Float32);
  EXPECT_THROW(zero.celu(0), Error);
}

TEST(HyperbolicGradients, AreRightAtEdgesToo) {
  register_devices();
  const auto slope = [](Tensor (Tensor::*f)() const, double at) {
    Tensor x = Tensor::from(at);
    x.set_requires_grad();
    ((x).*f)().backward();
    return x.grad()->item<double>();
  };
  EXPECT_EQ(slope(&Tensor::sinh, 0), 1);
  EXPECT_EQ(slope(&Tensor::cosh, 0), 0);
  EXPECT_EQ(slope(&Tensor::expm1, 0), 1);
  EXPECT_EQ(slope(&Tensor::log1p, 0), 1);
  EXPECT_EQ(slope(&Tensor::asinh, 0), 1);
  EXPECT_EQ(slope(&Tensor::atanh, 0), 1);
  EXPECT_NEAR(slope(&Tensor::tanh, 0), 1, 1e-15);
  EXPECT_EQ(slope(&Tensor::tanh, 400), 0);
  EXPECT_EQ(slope(&Tensor::softplus, 0), 0.5);
  EXPECT_EQ(slope(&Tensor::softplus, -1e3), 0);
  EXPECT_EQ(slope(&Tensor::softplus, 1e3), 1);
  EXPECT_NEAR(slope(&Tensor::asinh, 1e200) * 1e200, 1, 1e-12);
  EXPECT_EQ(slope(&Tensor::acosh, 1), HUGE_VAL);
}

}  // namespace
}  // namespace touchstone
