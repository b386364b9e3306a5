// Operands whose zeros may have either sign.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "trial.h"

namespace touchstone {
namespace {

TEST(Zeros, HaveOneOrTwoLegalResultsAsOperandsOfNamedFunctions) {
  const auto word = [](const char* text, float x, float y, float out) {
    return test::Trial{text, {{x}, {y}}, {out}}.under(true).word();
  };
  EXPECT_EQ(word("pow(x[1], y[1])", 0, 2, 0), "PASS");
  EXPECT_EQ(word("pow(x[1], y[1])", 0, 2, 5), "FAIL");
  EXPECT_EQ(word("pow(x[1], y[1])", 0, 0, 1), "PASS");
  EXPECT_EQ(word("pow(x[1], y[1])", 0, 0, 5), "FAIL");
}

// Both signs, but nothing between them.
TEST(Zeros, OfUnknownSignHaveTwoResultsAtAPole) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kPi = 3.14159265F;
  const auto expect = [](const char* text, const test::Floats& legal, const test::Floats& illegal) {
    const auto word = [&](float out, DType type) {
      std::string formula = text;
      if (type == DType::BFloat16) formula.replace(formula.find("[1]"), 3, "[1]:bf16");
      return test::Trial{formula, {{0}}, {out}, type}.under(true).word();
    };
    for (const DType type : {DType::Float32, DType::BFloat16}) {
      for (const float x : legal) EXPECT_EQ(word(x, type), "PASS") << text << " " << x;
      for (const float x : illegal) EXPECT_EQ(word(x, type), "FAIL") << text << " " << x;
    }
  };
  expect("rsqrt(x[1])", {kInf}, {-kInf, 7, 0, 3e38F});
  expect("rsqrt(0 * exp(x[1]))", {kInf, -kInf}, {7, 0, 3e38F});
  expect("1 / (0 * exp(x[1]))", {kInf, -kInf}, {7, 0, -3e38F});
  expect("pow(0 * x[1], -1)", {kInf, -kInf}, {7, 0});
  expect("atan2(x[1], -1)", {kPi}, {-kPi, 0, 0.5F, -0.7F, 4});
  expect("atan2(0 * exp(x[1]), -1)", {kPi, -kPi}, {0, 0.5F, -0.7F, 4});
}

// Our own formulas for these divide by 0 there.
TEST(Zeros, AndPolesHaveTheResultsOfTheStandard) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  struct Case {
    const char* text;
    test::Floats in;
    float legal;
  };
  for (const Case& c : {Case{"asin(x[1])", {1}, 1.57079633F},
                        {"asin(x[1])", {-1}, -1.57079633F},
                        {"acos(x[1])", {-1}, 3.14159265F},
                        {"lgamma(x[1])", {0}, kInf},
                        {"digamma(x[1])", {0}, -kInf},
                        {"rsqrt(x[1])", {0}, kInf},
                        {"atanh(x[1])", {1}, kInf},
                        {"log(x[1])", {0}, -kInf},
                        {"pow(x[1], -0.75)", {0}, kInf},
                        {"pow(x[1], -1)", {0}, kInf}})
    for (const DType type : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16}) {
      std::string text = c.text;
      if (type != DType::Float32)
        text.replace(text.find("[1]"), 3, fmt::format("[1]:{}", name(type)));
      const auto word = [&](float out) {
        return test::Trial{text, {c.in}, {out}, type}.under(true).word();
      };
      if (type != DType::Float64 || std::isinf(c.legal)) {
        EXPECT_EQ(word(c.legal), "PASS") << text;
      }
      for (const float other : {42.F, kNan, -c.legal})
        EXPECT_EQ(word(other), "FAIL") << text << " " << other;
    }
}

// digamma(x) is nearly -1/x there.
TEST(Zeros, AnOverflowIsNoPole) {
  const KernelToJudge kernel = formula_to_judge("digamma(x[1]:f64)");
  const std::unique_ptr<Device> host = make_interpreted_device();
  Buffer x(*host, DType::Float64, 1), y(*host, DType::Float64, 1);
  x.write(std::span<const double>(std::array<double, 1>{5.562684646268003e-309}));
  y.write(std::span<const double>(std::array<double, 1>{std::numeric_limits<double>::lowest()}));
  Buffer* const all[] = {&y, &x};
  const Profile sharp = Profile::from_json(R"({"name": "t", "ulp": {"digamma": 4}})");
  EXPECT_NE(judge(kernel.ast, all, y, sharp).word(), std::string("FAIL"));
}

// No order of rounding makes a sum of squares negative, so its root is a number.
TEST(Zeros, VariancesAreNotNegative) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const test::Floats equal(6, 0.1F);
  for (const DType type : {DType::Float32, DType::Float16, DType::BFloat16}) {
    const auto word = [&](const char* name, float out) {
      const std::string text = fmt::format("{}(x[6]:{})", name, touchstone::name(type));
      return test::Trial{text, {equal}, {out}, type}.under(true).word();
    };
    for (const char* name : {"std", "var"}) {
      EXPECT_NE(word(name, 0), "FAIL") << name;
      EXPECT_EQ(word(name, -1e-6F), "FAIL") << name;
      EXPECT_EQ(word(name, kNan), "FAIL") << name;
    }
    EXPECT_EQ(
        test::Trial({fmt::format("mean_variance_normalization(x[1,6]:{}, axis=1)", name(type)),
                     {equal},
                     test::Floats(6, kNan),
                     type})
            .under(true)
            .word(),
        "FAIL");
  }
}

// Unrounded in a wide accumulator, products that round to 0 have a sum.
TEST(Zeros, OfProductsThatUnderflowMayAddUp) {
  test::Draws random(31);
  for (const int n : {2, 7, 64, 1000}) {
    for (const float shift : {0.F, 1e-43F, 1e-38F}) {
      const auto count = static_cast<std::size_t>(n);
      test::Floats x = test::drawn(random, count, 1e-23F, 1e-23F);
      test::Floats y = test::drawn(random, count, 2e-23F, -1e-23F);
      x[0] = shift, y[0] = 1;  // one product is exact
      double wide = 0, all = 0;
      float narrow = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const double product = static_cast<double>(x[i]) * static_cast<double>(y[i]);
        wide += product;
        all += std::abs(product);
        narrow += x[i] * y[i];
      }
      const auto word = [&](double out) {
        return test::Trial{
            fmt::format("sum(x[{}] * y[{}])", n, n), {x, y}, {static_cast<float>(out)}}
            .under(true)
            .word();
      };
      EXPECT_NE(word(wide), "FAIL") << n << " " << shift << " " << wide;
      EXPECT_NE(word(static_cast<double>(narrow)), "FAIL") << n << " " << shift;
      EXPECT_EQ(word(wide + 4 * all + 1e-41), "FAIL") << n << " " << shift;
    }
  }
}

// A profile whose functions err by less than glibc's makes no use of our own formulas.
TEST(NamedFunctions, HaveTheErrorsThatAProfileDeclares) {
  test::Draws random(11);
  test::Floats x = test::drawn(random, 200, 1), right(x.size()), above(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    right[i] = static_cast<float>(std::tanh(static_cast<double>(x[i])));
    above[i] = std::nextafter(right[i], 9.F);
  }
  const auto illegal = [&](const test::Floats& out, std::string_view profile) {
    const Verdict v =
        test::Trial{
            .text = "tanh(x[200])", .in = {x}, .out = out, .profile = Profile::from_json(profile)}
            .under(true);
    return v.wrong;
  };
  for (const char* sharp :
       {R"({"name": "t", "base": "ieee"})", R"({"name": "t", "ulp": {"tanh": 0}})"}) {
    EXPECT_EQ(illegal(right, sharp), 0) << sharp;
    EXPECT_EQ(illegal(above, sharp), 200) << sharp;
  }
  EXPECT_EQ(illegal(above, R"({"name": "t", "ulp": {"tanh": 1}})"), 0);
  EXPECT_EQ(illegal(above, R"({"name": "t", "base": "library"})"), 0);
}

}  // namespace
}  // namespace touchstone
