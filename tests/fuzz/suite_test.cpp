#include "touchstone/fuzz/suite.h"

#include <gtest/gtest.h>

#include <set>

#include "touchstone/base/error.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/interpreted.h"

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

}  // namespace
}  // namespace touchstone::fuzz
