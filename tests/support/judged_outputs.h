#pragma once

#include <string>
#include <vector>

// Outputs in float32 that library functions may give for a formula and its nodes may not.

namespace touchstone::test {

struct JudgedOutput {
  std::string formula;  // with sizes
  std::vector<std::vector<float>> inputs;
  std::vector<float> right, wrong;
};

inline std::vector<JudgedOutput> judged_outputs() {
  // Sums times float32(1/3), which are not the nearest float32 to their thirds.
  return {{"mean(x[2,3], axis=1, keep=1)",
           {{1, 2, 2, 3, 3, 1}},
           {0x1.aaaaacp+0F, 0x1.2aaaacp+1F},
           {0x1.aaaaacp+0F, 0x1.2aaaf6p+1F}},
          {"maximum(x[4], y[4])",
           {{0.0F, -0.0F, -0.0F, 1}, {-0.0F, 0.0F, -0.0F, 2}},
           {-0.0F, 0.0F, -0.0F, 2},
           {-0.0F, 0.0F, -0.0F, 1}}};
}

inline constexpr const char* kUnderLibrary = "under library (the formula names library functions)";

}  // namespace touchstone::test
