#include "touchstone/fuzz/suites/suite.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "touchstone/base/error.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/fuzz/suites/kernel_suite.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/tcc/tcc_device.h"

namespace touchstone::fuzz {
namespace {

TEST(Suite, HoldsEveryOpOfEveryTypeItTakesOnce) {
  SuiteOptions options;
  options.elements = 3;
  const std::vector<SuiteCase> cases = draw_suite(options);
  std::set<std::string> names;
  for (const SuiteCase& c : cases) EXPECT_TRUE(names.insert(c.name).second) << c.name;
  for (const char* name :
       {"exp2-float16-edges", "where-bool-random", "max-uint64-integers",
        "reduce-sum-bfloat16-edges", "dot-float32-random", "cast-float64-int8-edges",
        "bitcast-int32-float32-edges", "mulacc-float32-edges", "xor-bool-edges",
        "mod-float64-random", "reduce-sum-float16-full", "add-int8-zeros"})
    EXPECT_TRUE(names.contains(name)) << name;
  for (const char* name : {"exp2-int8-edges", "xor-float32-edges", "div-bool-edges",
                           "bitcast-int8-bool-edges", "cast-int8-int8-edges"})
    EXPECT_FALSE(names.contains(name)) << name;
}

TEST(Suite, IsTheSameForTheSameSeed) {
  SuiteOptions options;
  options.ops = {Op::Add};
  options.dtypes = {DType::Float32};
  const std::vector<SuiteCase> one = draw_suite(options), two = draw_suite(options);
  options.seed = 1;
  const std::vector<SuiteCase> other = draw_suite(options);
  ASSERT_EQ(one.size(), std::size(kValueFamilies));
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].run.inputs[0].bytes, two[i].run.inputs[0].bytes);
    EXPECT_NE(one[i].run.inputs[0].bytes, other[i].run.inputs[0].bytes);
    EXPECT_EQ(one[i].run.inputs[1].size(), 500);
  }
}

TEST(Suite, TakesNoMovement) {
  SuiteOptions options;
  options.ops = {Op::Reshape};
  EXPECT_THROW(draw_suite(options), AstError);
}

TEST(Suite, OursPassesAllOfIt) {
  register_interpreted_device();
  register_clang_device();
  SuiteOptions options;
  options.elements = 60;
  const std::vector<SuiteCase> cases = draw_suite(options);
  std::vector<LazyOpPtr> kernels;
  for (const SuiteCase& c : cases) kernels.push_back(c.run.kernel);
  Device& clang = Device::get("CLANG");
  clang.prepare(kernels);
  for (const SuiteCase& c : cases) {
    const Verdict reference = run_case(c.run, Device::get("CPU"), Profile::named("ieee"));
    EXPECT_NE(reference.outcome, Outcome::Fail) << c.name << ": " << reference.str();
    EXPECT_NE(reference.outcome, Outcome::Unusable) << c.name << ": " << reference.str();
    const Verdict compiled = run_case(c.run, clang);
    EXPECT_NE(compiled.outcome, Outcome::Fail) << c.name << ": " << compiled.str();
    EXPECT_NE(compiled.outcome, Outcome::Unusable) << c.name << ": " << compiled.str();
  }
}

TEST(KernelSuite, HoldsWholeKernelsOnProbes) {
  const std::vector<SuiteCase> cases = draw_kernel_suite({}), again = draw_kernel_suite({});
  std::set<std::string> names;
  for (const SuiteCase& c : cases) EXPECT_TRUE(names.insert(c.name).second) << c.name;
  for (const char* name :
       {"softmax-8x17-float32-deep", "sum-5x6x7-int32-integers", "conv2d-2x3x9x8-float16-one-hot",
        "attention-causal-6x6x4-float32-random", "roll-8x11-int32-edges",
        "sum-empty-4x0-float32-zeros"})
    EXPECT_TRUE(names.contains(name)) << name;
  for (const char* name : {"softmax-8x17-int32-random", "roll-8x11-int32-zeros"})
    EXPECT_FALSE(names.contains(name)) << name;
  ASSERT_EQ(cases.size(), again.size());
  for (std::size_t i = 0; i < cases.size(); ++i)
    for (std::size_t j = 0; j < cases[i].run.inputs.size(); ++j)
      ASSERT_EQ(cases[i].run.inputs[j].bytes, again[i].run.inputs[j].bytes) << cases[i].name;
  for (const SuiteCase& c : draw_kernel_suite({{"conv2d"}, {DType::Float64}, 1}))
    EXPECT_TRUE(c.name.starts_with("conv2d-") && c.name.find("float64") != std::string::npos);
  EXPECT_TRUE(draw_kernel_suite({{"softmax"}, {DType::Int8}, 1}).empty());
  EXPECT_THROW(draw_kernel_suite({{"softmx"}, {}, 1}), ParseError);
}

// Every type, on the reference and on libtcc's code; each kernel has a sharp input unless its type
// has few digits.
TEST(KernelSuite, OursPassesAllOfIt) {
  register_interpreted_device();
  const std::unique_ptr<Device> compiled =
      has_tcc() ? make_tcc_device() : make_interpreted_device("CANDIDATE");
  std::map<std::string, bool> sharp;
  KernelSuiteOptions options;
  options.dtypes = {DType::Float32, DType::BFloat16, DType::Int32, DType::Bool, DType::Float8E5M2};
  for (const SuiteCase& c : draw_kernel_suite(options)) {
    const Verdict reference = run_case(c.run, Device::get("CPU"), Profile::named("ieee"));
    EXPECT_NE(reference.outcome, Outcome::Fail) << c.name << ": " << reference.str();
    EXPECT_NE(reference.outcome, Outcome::Unusable) << c.name << ": " << reference.str();
    const Verdict other = run_case(c.run, *compiled);
    EXPECT_NE(other.outcome, Outcome::Fail) << c.name << ": " << other.str();
    EXPECT_NE(other.outcome, Outcome::Unusable) << c.name << ": " << other.str();
    bool& any = sharp[c.name.substr(0, c.name.rfind("32-") + 2)];
    any = any || other.outcome == Outcome::Pass;
  }
  for (const auto& [name, any] : sharp)
    if (name.ends_with("float32") || name.ends_with("int32")) {
      EXPECT_TRUE(any) << name;
    }
}

}  // namespace
}  // namespace touchstone::fuzz
