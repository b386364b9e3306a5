// Tests a function of your own with GoogleTest: every result that a conforming device may give
// passes, without choosing a tolerance.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <touchstone/define/text.h>
#include <touchstone/testing/is_legal_for.h>

namespace {

using touchstone::testing::IsLegalFor;

std::vector<float> softmax(const std::vector<float>& x) {
  float most = x[0], sum = 0;
  for (const float v : x) most = std::max(most, v);
  std::vector<float> y;
  for (const float v : x) sum += y.emplace_back(std::exp(v - most));
  for (float& v : y) v /= sum;
  return y;
}

TEST(Softmax, IsAsItsFormulaSays) {
  const auto formula = touchstone::define::parse("softmax(x[5])").kernel();
  const std::vector<float> x{-3, 0.5F, 2, 7, 1};
  std::vector<float> y = softmax(x);
  EXPECT_THAT(y, IsLegalFor(formula).on(x));
  y[3] *= 1.0001F;
  EXPECT_THAT(y, testing::Not(IsLegalFor(formula).on(x)));
}

}  // namespace
