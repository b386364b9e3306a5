#include "touchstone/fuzz/engine/hunt.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "touchstone/base/error.h"
#include "touchstone/device/device.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/interp/device/interpreted.h"

namespace touchstone::fuzz {
namespace {

bool mutant = false;

/// Numbers. Multiples of 97 always fail; with the mutant also even ones above 1000, and those above
/// 900,000 end the process.
class Numbers : public Area {
 public:
  std::string_view name() const override { return "numbers"; }
  std::string draw(Chooser& chooser) override { return std::to_string(chooser.below(most)); }
  Checked check(const std::string& text, Effort) override {
    const std::int64_t n = std::stoll(text);
    if (mutant && n > 900'000) std::_Exit(7);
    if (n % 97 == 0) return Checked::fail("multiple", text);
    if (mutant && n > 1000 && n % 2 == 0) return Checked::fail("even", text);
    return {};
  }
  std::vector<std::string> smaller(const std::string& text) override {
    const std::int64_t n = std::stoll(text);
    return {std::to_string(n / 2), std::to_string(n - 100), std::to_string(n - 97),
            std::to_string(n - 1), std::to_string(n - 2)};
  }
  Measure measure(const std::string& text) override { return {std::llabs(std::stoll(text))}; }

  inline static std::uint64_t most = 1000;
};

Hunted hunt_numbers(std::uint64_t most, bool with) {
  Numbers::most = most;
  HuntOptions options;
  options.cases = 2000;
  if (with) options.begin = [] { mutant = true; };
  options.reached = [] { return mutant; };
  return hunt({{"numbers", [] { return std::make_unique<Numbers>(); }, 16}}, options);
}

TEST(Hunt, CountsWhatFailsWithoutTheMutantAsNoFind) {
  const Hunted r = hunt_numbers(1000, true);
  EXPECT_FALSE(r.found);
  EXPECT_TRUE(r.reached);
  EXPECT_GT(r.others, 0);
  EXPECT_GE(r.cases, 2000);
}

TEST(Hunt, FindsTheMutantAndShrinksWhatItFound) {
  const Hunted r = hunt_numbers(100'000, true);
  EXPECT_TRUE(r.found);
  EXPECT_EQ(r.area, "numbers");
  EXPECT_EQ(r.relation, "even");
  EXPECT_EQ(r.text, "1002");
  EXPECT_TRUE(r.alone);
  EXPECT_GT(r.shrink_runs, 0);
}

TEST(Hunt, ACaseThatEndsTheProcessIsAFindAndShrunk) {
  Numbers::most = 1'000'000;
  HuntOptions options;
  options.begin = [] { mutant = true; };
  const HuntArea area{"numbers", [] { return std::make_unique<Numbers>(); }, 16};
  EXPECT_EQ(check_alone(area, options, true, "900001"), "crash");
  EXPECT_EQ(check_alone(area, options, false, "900001"), "");
  EXPECT_EQ(check_alone(area, options, false, "970"), "multiple");
}

TEST(Hunt, WithoutAMutantEveryFailureCounts) {
  const Hunted r = hunt_numbers(1000, false);
  EXPECT_TRUE(r.found);
  EXPECT_EQ(r.relation, "multiple");
  EXPECT_GT(r.others, 1);
  EXPECT_EQ(r.text, "0");
}

TEST(TensorProgram, HasItsValueByDefinition) {
  const std::unique_ptr<Device> device = make_interpreted_device("DEFINITION", 1);
  const auto floats = [&](const char* text) {
    const std::string bytes = by_definition(TensorProgram::parse(text), *device);
    std::vector<float> values(bytes.size() / 4);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  EXPECT_EQ(floats("float32 2: 1 2; const float32 2: 3; add %0 %1; pad %2 1:0"),
            (std::vector<float>{0, 4, 5}));
  EXPECT_EQ(floats("float32 2,2: 1 2 3 4; permute %0 1,0; reduce_sum %1 0"),
            (std::vector<float>{3, 7}));
  EXPECT_EQ(floats("float32 1,0: 1; reduce_max %0 1"),
            (std::vector<float>{-std::numeric_limits<float>::infinity()}));
  EXPECT_THROW((void)TensorProgram::parse("const float32 2: 1 2"), ParseError);
}

}  // namespace
}  // namespace touchstone::fuzz
