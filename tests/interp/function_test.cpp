// The named functions against values of another kind: Boost.Multiprecision with 400 bits, erf by
// its own series, and brackets where the inverse is simple. MPFR is not used here.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>
#include <random>

#include <boost/multiprecision/cpp_bin_float.hpp>

#include "touchstone/dtype/rounding.h"
#include "touchstone/interp/device/scalar_function.h"
#include "touchstone/interp/oracle/legal_function.h"

namespace touchstone {
namespace {

namespace mp = boost::multiprecision;
using Real = mp::number<mp::cpp_bin_float<400, mp::digit_base_2>, mp::et_off>;

UnpackedReal unpack(const Real& v) {
  UnpackedReal r;
  if (v == 0) return r;
  int exponent = 0;
  const Real scaled = ldexp(frexp(abs(v), &exponent), 64), whole = floor(scaled);
  r.negative = v < 0;
  r.mantissa = whole.convert_to<std::uint64_t>();
  r.exponent = exponent - 64;
  r.sticky = scaled != whole;
  return r;
}

const Real& pi() {
  static const Real value = 4 * atan(Real(1));
  return value;
}

// erf(x) by its power series for |x| < 7, with terms below e^49: 400 bits leave over 300.
Real erf_series(const Real& x) {
  Real term = x, sum = x;
  for (int n = 1; n < 2000; ++n) {
    term *= -x * x / n;
    sum += term / (2 * n + 1);
    if (abs(term) < ldexp(Real(1), -390)) break;
  }
  return 2 * sum / sqrt(pi());
}

Real true_value(NamedFunction f, const Real& x, const Real& y) {
  const Real e = exp(x);
  switch (f) {
    case NamedFunction::Exp: return e;
    case NamedFunction::Expm1: return e - 1;
    case NamedFunction::Log: return log(x);
    case NamedFunction::Log10: return log(x) / log(Real(10));
    case NamedFunction::Log1p: return log(1 + x);
    case NamedFunction::Rsqrt: return 1 / sqrt(x);
    case NamedFunction::Sigmoid: return e / (e + 1);
    case NamedFunction::Silu: return x * e / (e + 1);
    case NamedFunction::Tanh: return (e - 1 / e) / (e + 1 / e);
    case NamedFunction::Erf: return erf_series(x);
    case NamedFunction::Erfc: return 1 - erf_series(x);
    case NamedFunction::Gelu: return x / 2 * (1 + erf_series(x / sqrt(Real(2))));
    case NamedFunction::GeluTanh: {
      const Real u = exp(2 * sqrt(2 / pi()) * (x + Real("0.044715") * x * x * x));
      return x * u / (u + 1);
    }
    case NamedFunction::Softplus: return log(1 + e);
    case NamedFunction::Cos: return cos(x);
    case NamedFunction::Tan: return sin(x) / cos(x);
    case NamedFunction::Asin: return asin(x);
    case NamedFunction::Acos: return acos(x);
    case NamedFunction::Atan: return atan(x);
    case NamedFunction::Sinh: return (e - 1 / e) / 2;
    case NamedFunction::Cosh: return (e + 1 / e) / 2;
    case NamedFunction::Asinh: return log(abs(x) + sqrt(x * x + 1)) * (x < 0 ? -1 : 1);
    case NamedFunction::Acosh: return log(x + sqrt(x * x - 1));
    case NamedFunction::Atanh: return log((1 + x) / (1 - x)) / 2;
    case NamedFunction::Cbrt: return exp(log(abs(x)) / 3) * (x < 0 ? -1 : 1);
    case NamedFunction::Pow: return exp(y * log(x));
    case NamedFunction::Hypot: return sqrt(x * x + y * y);
    case NamedFunction::Atan2: return y > 0 ? atan(x / y) : (x < 0 ? -pi() : pi()) + atan(x / y);
    case NamedFunction::Erfinv: {  // Newton
      Real r = x;
      for (int i = 0; i < 60; ++i) r -= (erf_series(r) - x) * sqrt(pi()) / 2 * exp(r * r);
      return r;
    }
    case NamedFunction::Lgamma:
    case NamedFunction::Digamma: {  // Stirling's series at x + 200, 40 terms, and the recurrence
      Real at = x, low = 0;
      for (; at < 200; at += 1) low += f == NamedFunction::Lgamma ? log(abs(at)) : 1 / at;
      static const std::vector<Real> bernoulli = [] {  // B_2, B_4, ... by their recurrence
        std::vector<Real> b(82, Real(0));
        b[0] = 1;
        for (int n = 1; n < 82; ++n) {
          Real choose = 1;
          for (int k = 0; k < n; ++k) {
            b[static_cast<std::size_t>(n)] -= choose * b[static_cast<std::size_t>(k)];
            choose = choose * (n + 1 - k) / (k + 1);
          }
          b[static_cast<std::size_t>(n)] /= n + 1;
        }
        return b;
      }();
      Real sum = f == NamedFunction::Lgamma ? (at - Real("0.5")) * log(at) - at + log(2 * pi()) / 2
                                            : log(at) - 1 / (2 * at);
      Real power = f == NamedFunction::Lgamma ? at : at * at;
      for (int n = 2; n < 82; n += 2, power *= at * at)
        sum += f == NamedFunction::Lgamma
                   ? bernoulli[static_cast<std::size_t>(n)] / (n * (n - 1) * power)
                   : -bernoulli[static_cast<std::size_t>(n)] / (n * power);
      return sum - low;
    }
    case NamedFunction::Floor: return floor(x);
    case NamedFunction::Ceil: return ceil(x);
    case NamedFunction::Round: {
      const Real near = floor(x + Real("0.5"));
      return near - x == Real("0.5") && near / 2 != floor(near / 2) ? near - 1 : near;
    }
    case NamedFunction::Trunc: return x < 0 ? ceil(x) : floor(x);
  }
  return 0;
}

// The operands for which the definition above has its digits.
double drawn(NamedFunction f, std::mt19937_64& random) {
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  const auto any_size = [&](int least, int most) {
    return std::ldexp(uniform(0.5, 1), static_cast<int>(uniform(least, most)));
  };
  const FunctionInfo& row = info(f);
  const double sign = uniform(-1, 1) < 0 ? -1 : 1;
  switch (f) {
    case NamedFunction::Erf:
    case NamedFunction::Erfc:
    case NamedFunction::Gelu: return sign * any_size(-30, 2);
    case NamedFunction::Erfinv: return sign * std::min(any_size(-20, 0), 0.999);
    case NamedFunction::Digamma:
    case NamedFunction::Lgamma: return any_size(-4, 7);
    case NamedFunction::Pow: return any_size(-3, 4);
    case NamedFunction::Floor:
    case NamedFunction::Ceil:
    case NamedFunction::Round:
    case NamedFunction::Trunc: return std::floor(sign * any_size(-2, 8) * 4) / 4;
    default: break;
  }
  if (row.from == 0) return any_size(-40, 40);
  if (row.from == 1) return 1 + any_size(-20, 20);
  if (row.to == 1) return sign * any_size(-20, 0);
  if (f == NamedFunction::Log1p) return std::max(sign * any_size(-20, 20), -0.99);
  return sign * any_size(-20, 6);
}

class EveryFunction : public testing::TestWithParam<FunctionInfo> {};

template <class T>
void expect_rounded_once(const FunctionInfo& row, int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < count; ++i) {
    const T x = convert<T>(drawn(row.function, random));
    const T y = convert<T>(std::ldexp(drawn(NamedFunction::Sinh, random), -3));
    const auto a = static_cast<double>(scalar::detail::computing(x));
    const auto b = static_cast<double>(scalar::detail::computing(y));
    if (a == 0 || b == 0 || !std::isfinite(a) || a < row.from || a > row.to) continue;
    if ((row.to == 1 || row.from == 1) && std::abs(a) == 1) continue;
    const T wanted = round_once<T>(unpack(true_value(row.function, Real(a), Real(b))));
    const T got = scalar::function(row.function, x, y);
    EXPECT_TRUE(scalar::cmpeq(got, wanted))
        << row.name << "(" << a << ", " << b << "), case " << i << " of seed " << seed << ": "
        << scalar::detail::computing(got) << ", not " << scalar::detail::computing(wanted);
  }
}

TEST_P(EveryFunction, IsRoundedOnce) {
  expect_rounded_once<float>(GetParam(), 400, 1);
  expect_rounded_once<double>(GetParam(), 200, 2);
  expect_rounded_once<float16>(GetParam(), 100, 3);
  expect_rounded_once<bfloat16>(GetParam(), 100, 4);
}

TEST_P(EveryFunction, OfAnIntervalContainsItsValues) {
  const FunctionInfo& row = GetParam();
  std::mt19937_64 random(5);
  for (int i = 0; i < 200; ++i) {
    float a = static_cast<float>(drawn(row.function, random));
    float b =
        a + std::abs(a) * static_cast<float>(std::ldexp(1.0, -static_cast<int>(random() % 24)));
    if (random() % 2 != 0) std::swap(a, b);
    if (b < a) std::swap(a, b);
    const interp::Legal<float> x = interp::Legal<float>::range(a, b),
                               y = interp::Legal<float>::range(0.5F, 2.0F);
    const interp::Legal<float> legal =
        interp::legal::function(row.function, x, y, {1, DType::Float32});
    for (int k = 0; k <= 16; ++k) {
      const float at = k == 16 ? b : a + (b - a) * static_cast<float>(k) / 16;
      const float value = scalar::function(row.function, at, 0.5F + static_cast<float>(k) / 16);
      EXPECT_TRUE(legal.accepts(value))
          << row.name << " at " << at << " of [" << a << ", " << b << "]: " << value
          << " is not in [" << legal.lo << ", " << legal.hi << "]";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryFunction, testing::ValuesIn(function_table),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(NamedFunction, HasTheSpecialValuesOfAnnexF) {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = NAN;
  struct Case {
    NamedFunction f;
    float x, y, wanted;
  };
  const Case cases[] = {
      {NamedFunction::Exp, -inf, 0, 0},         {NamedFunction::Exp, inf, 0, inf},
      {NamedFunction::Exp, -0.0F, 0, 1},        {NamedFunction::Expm1, -0.0F, 0, -0.0F},
      {NamedFunction::Log, 0, 0, -inf},         {NamedFunction::Log, -1, 0, nan},
      {NamedFunction::Log1p, -1, 0, -inf},      {NamedFunction::Rsqrt, -0.0F, 0, -inf},
      {NamedFunction::Sigmoid, -inf, 0, 0},     {NamedFunction::Sigmoid, inf, 0, 1},
      {NamedFunction::Silu, -inf, 0, -0.0F},    {NamedFunction::Silu, inf, 0, inf},
      {NamedFunction::Tanh, -0.0F, 0, -0.0F},   {NamedFunction::Tanh, inf, 0, 1},
      {NamedFunction::Gelu, -inf, 0, -0.0F},    {NamedFunction::Gelu, -0.0F, 0, -0.0F},
      {NamedFunction::Cos, inf, 0, nan},        {NamedFunction::Acosh, 0.5F, 0, nan},
      {NamedFunction::Atanh, -1, 0, -inf},      {NamedFunction::Erfinv, 1, 0, inf},
      {NamedFunction::Erfinv, -0.0F, 0, -0.0F}, {NamedFunction::Erfinv, 1.5F, 0, nan},
      {NamedFunction::Digamma, -2, 0, nan},     {NamedFunction::Digamma, 0, 0, -inf},
      {NamedFunction::Lgamma, -2, 0, inf},      {NamedFunction::Floor, -0.0F, 0, -0.0F},
      {NamedFunction::Ceil, -0.5F, 0, -0.0F},   {NamedFunction::Round, 2.5F, 0, 2},
      {NamedFunction::Pow, nan, 0, 1},          {NamedFunction::Pow, 1, nan, 1},
      {NamedFunction::Pow, -2, 3, -8},          {NamedFunction::Pow, -2, 0.5F, nan},
      {NamedFunction::Hypot, inf, nan, inf},    {NamedFunction::Hypot, nan, -inf, inf},
      {NamedFunction::Atan2, -0.0F, 1, -0.0F},
  };
  for (const Case& c : cases) {
    const float got = scalar::function(c.f, c.x, c.y);
    EXPECT_TRUE(std::isnan(c.wanted)
                    ? std::isnan(got)
                    : std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(c.wanted))
        << info(c.f).name << "(" << c.x << ", " << c.y << ") = " << got << ", not " << c.wanted;
  }
}

interp::Legal<double> legal_of(NamedFunction f, double low, double high) {
  const auto x = interp::Legal<double>::range(low, high);
  return interp::legal::function(f, x, x, {0, DType::Float64});
}

// Where a value near 0 has many digits more than the one at the other end.
TEST(LegalFunction, EnclosesACosineBesideItsRoot) {
  const auto cos = [](float x) { return scalar::function(NamedFunction::Cos, x); };
  const float low = 1.5707646608352661F, high = 1.570796251296997F;
  const auto x = interp::Legal<float>::range(low, high);
  const auto legal = interp::legal::function(NamedFunction::Cos, x, x, {1, DType::Float32});
  EXPECT_TRUE(legal.accepts(cos(low)) && legal.accepts(cos(high))) << legal.lo << ' ' << legal.hi;
  EXPECT_FALSE(legal.accepts(-1e-6F));
  const auto y = interp::Legal<float>::range(3.141530752182007F, 3.1415927410125732F);
  const auto sine = interp::legal::sin(y, 1, 0, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(sine.accepts(scalar::sin(y.lo)) && sine.accepts(scalar::sin(y.hi)));
}

TEST(LegalFunction, EnclosesTheLeastValueOfAValley) {
  for (const NamedFunction f :
       {NamedFunction::Silu, NamedFunction::Gelu, NamedFunction::GeluTanh}) {
    const double turn = info(f).turn;
    const auto legal = legal_of(f, turn - 2e-7, turn + 1.5e-7);
    for (int i = -20; i <= 15; ++i)
      EXPECT_TRUE(legal.accepts(scalar::function(f, turn + i * 1e-8))) << info(f).name << ' ' << i;
    EXPECT_FALSE(legal.accepts(std::nextafter(legal.lo, -1)));
  }
}

// Zeros of either sign, infinities and the numbers beside them as ends, with and without an error.
TEST(LegalFunction, HoldsTheValuesAtItsEnds) {
  using interp::Legal;
  constexpr float inf = std::numeric_limits<float>::infinity(), tiny = 1e-45F, most = 3.4e38F;
  const float ends[] = {-inf, -most, -1, -1e-7F, -tiny, -0.0F, 0, tiny, 1e-7F, 0.5F, 1, most, inf};
  for (const float low : ends)
    for (const float high : ends) {
      if (interp::order_key(low) > interp::order_key(high)) continue;
      const auto x = Legal<float>::range(low, high);
      for (const int ulp : {0, 1}) {
        const auto expect = [&](std::string_view name, const Legal<float>& legal, float at_low,
                                float at_high) {
          EXPECT_TRUE(legal.accepts(at_low) && legal.accepts(at_high))
              << name << " of [" << low << ", " << high << "] within " << ulp << " ULP: ["
              << legal.lo << ", " << legal.hi << "] without " << at_low << " or " << at_high;
        };
        expect("SQRT", interp::legal::sqrt(x), scalar::sqrt(low), scalar::sqrt(high));
        expect("EXP2", interp::legal::exp2(x, ulp), scalar::exp2(low), scalar::exp2(high));
        expect("LOG2", interp::legal::log2(x, ulp), scalar::log2(low), scalar::log2(high));
        for (const double absolute : {0.0, 1e-6})
          expect("SIN", interp::legal::sin(x, ulp, absolute, inf), scalar::sin(low),
                 scalar::sin(high));
        for (const FunctionInfo& row : function_table)
          expect(row.name,
                 interp::legal::function(row.function, x, x,
                                         {static_cast<double>(ulp), DType::Float32}),
                 scalar::function(row.function, low, low),
                 scalar::function(row.function, high, high));
      }
    }
}

// erfc(0) is 1 in every implementation, erfc(6e-8) within its error.
TEST(LegalFunction, AnEndIsAsFreeAsItsNeighbours) {
  const auto x = interp::Legal<float>::range(0, 1e-7F);
  const auto legal = interp::legal::function(NamedFunction::Erfc, x, x, {5, DType::Float32});
  EXPECT_TRUE(legal.accepts(1.0000002F));
  const auto zero = interp::Legal<float>::point(0);
  EXPECT_TRUE(
      interp::legal::function(NamedFunction::Erfc, zero, zero, {5, DType::Float32}).is_point());
}

}  // namespace
}  // namespace touchstone
