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

}  // namespace
}  // namespace touchstone
