// Operands whose zeros may have either sign.
#include <gtest/gtest.h>

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
  expect("rsqrt(x[1])", {kInf, -kInf}, {7, 0, 3e38F});
  expect("1 / (0 * exp(x[1]))", {kInf, -kInf}, {7, 0, -3e38F});
  expect("pow(0 * x[1], -1)", {kInf, -kInf}, {7, 0});
  expect("atan2(x[1], -1)", {kPi, -kPi}, {0, 0.5F, -0.7F, 4});
}

}  // namespace
}  // namespace touchstone
