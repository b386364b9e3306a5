#pragma once

#include <string>
#include <vector>

// Outputs of NumPy 1.24 in float32 that library functions may give for a formula and its nodes may
// not: exp(x - max) / sum(exp(x - max)) and numpy.maximum.

namespace touchstone::test {

struct JudgedOutput {
  std::string formula;  // with sizes
  std::vector<std::vector<float>> inputs;
  std::vector<float> right, wrong;
};

inline std::vector<JudgedOutput> judged_outputs() {
  const std::vector<float> softmax{0x1.fffc64p-1F, 0x1.1b4666p-29F, 0x1.cdf8e6p-16F,
                                   0x1.cf2e5ap-1F, 0x1.f51890p-26F, 0x1.868d28p-4F};
  std::vector<float> off = softmax;
  off[3] = 0x1.cf3e5ap-1F;
  return {{"softmax(x[2,3])", {{0, -20, -10.5F, 3.25F, -14, 1}}, softmax, off},
          {"maximum(x[4], y[4])",
           {{0.0F, -0.0F, -0.0F, 1}, {-0.0F, 0.0F, -0.0F, 2}},
           {-0.0F, 0.0F, -0.0F, 2},
           {-0.0F, 0.0F, -0.0F, 1}}};
}

inline constexpr const char* kUnderLibrary = "under library (the formula names library functions)";

}  // namespace touchstone::test
