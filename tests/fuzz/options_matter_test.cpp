#include "touchstone/codegen/options_matter.h"

#include <gtest/gtest.h>

#include "touchstone/fuzz/draw/draw_kernel.h"

namespace touchstone::fuzz {
namespace {

TEST(OptionsMatter, WhereTheyDoNotTheCodeIsTheSame) {
  CodegenOptions unmerged, without_lanes, tiny, fused;
  unmerged.merge_axes = false;
  without_lanes.lanes = false;
  tiny.sizes = kTinySizes;
  fused.contract = true;
  for (const CodegenOptions& options : {unmerged, without_lanes, tiny, fused}) {
    int matter = 0, other = 0;
    for (std::uint64_t i = 0; i < 300; ++i) {
      RandomChooser chooser(7, i);
      const LazyOpPtr kernel =
          (i % 4 == 0 ? draw_loops(chooser, Loops::Product) : draw_kernel_case(chooser)).kernel;
      const bool differs = linearize(kernel, options) != linearize(kernel);
      matter += options_matter(kernel, options) ? 1 : 0;
      other += differs ? 1 : 0;
      EXPECT_TRUE(options_matter(kernel, options) || !differs) << str(kernel);
    }
    EXPECT_GE(other, 10);
    EXPECT_LE(matter, 200);  // most kernels are skipped
  }
}

}  // namespace
}  // namespace touchstone::fuzz
