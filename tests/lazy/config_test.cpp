#include "touchstone/device/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "../support/error_of.h"
#include "lazy_device.h"
#include "touchstone/base/error.h"
#include "touchstone/ops/flop_counter.h"

namespace touchstone {
namespace {

using test::error_of;
using ::testing::HasSubstr;

class ConfigTest : public LazyTest {
 protected:
  // The number of kernels for the result of `make` under a config.
  template <class F>
  static std::size_t count(const Config& config, F&& make) {
    const ConfigScope scope(config);
    return kernels(make());
  }
  template <class F>
  static std::int64_t flops(const Config& config, F&& make) {
    const ConfigScope scope(config);
    std::int64_t total = 0;
    for (const ScheduleItem& item : plan(make())) total += get_lazyop_info(item.ast).flops.as_int();
    return total;
  }
  static Config by_ranges() {
    Config config;
    config.scheduler = Scheduler::Ranges;
    return config;
  }
  static Config without(Switch s) { return Config(Config::kMostOpt).set(s, false); }
};

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST_F(ConfigTest, ALevelHasTheSwitchesUpToIt) {
  for (int opt = 0; opt <= Config::kMostOpt; ++opt)
    for (const SwitchInfo& row : switch_table)
      EXPECT_EQ(Config(opt).on(row.id), row.level <= opt) << row.name;
  EXPECT_EQ(Config(0).set(Switch::MergeViews, false).switches, 0U);
  EXPECT_EQ(Config(), Config(Config::kDefaultOpt));
  EXPECT_THAT(error_of([] { Config(5); }), HasSubstr("OPT is 5; give a level from 0 to 4"));
}

TEST_F(ConfigTest, VariablesAreReadByName) {
  const Variable opt("TOUCHSTONE_OPT", "1"), pads("TOUCHSTONE_SHUFFLE_PAD_OPS", "1"),
      lazy("TOUCHSTONE_LAZY", "0"), least("TOUCHSTONE_REDUCEOP_SPLIT_THRESHOLD", "64"),
      trace("TOUCHSTONE_TRACE", "t.json"), debug("TOUCHSTONE_DEBUG", "");
  const Config config = Config::from_environment();
  EXPECT_EQ(config.opt, 1);
  EXPECT_TRUE(config.on(Switch::ShufflePadOps));
  EXPECT_FALSE(config.on(Switch::MergeOneReduceIntoElementwise));
  EXPECT_FALSE(config.lazy);
  EXPECT_EQ(config.reduceop_split_threshold, 64);
  EXPECT_EQ(config.trace, "t.json");
  EXPECT_EQ(config.debug, 0);
  for (const SwitchInfo& row : switch_table) EXPECT_EQ(switch_named(row.name), row.id);
  EXPECT_EQ(switch_named("PUSH"), std::nullopt);
}

// Other programs use variables of these names.
TEST_F(ConfigTest, NamesWithoutPrefixAreReadWhereAskedFor) {
  const Variable debug("DEBUG", "*"), opt("OPT", "-O2"), trace("TRACE", "1"), lazy("LAZY", "0");
  EXPECT_EQ(Config::from_environment(), by_ranges());
  {
    const Variable no("TOUCHSTONE_LINEAGE_ENV", "0");
    EXPECT_EQ(Config::from_environment(), by_ranges());
  }
  {
    const Variable neither("TOUCHSTONE_LINEAGE_ENV", "yes");
    EXPECT_THAT(error_of([] { Config::from_environment(); }),
                HasSubstr("TOUCHSTONE_LINEAGE_ENV is 'yes'; give 0 or 1"));
  }
  const Variable yes("TOUCHSTONE_LINEAGE_ENV", "1");
  EXPECT_THAT(error_of([] { Config::from_environment(); }), HasSubstr("OPT is '-O2'"));
  const Variable level("TOUCHSTONE_OPT", "3"), silent("TOUCHSTONE_DEBUG", "0");
  const Config config = Config::from_environment();  // the longer name wins
  EXPECT_EQ(config.opt, 3);
  EXPECT_EQ(config.debug, 0);
  EXPECT_EQ(config.trace, "1");
  EXPECT_FALSE(config.lazy);
  EXPECT_TRUE(Config::is_set("LAZY"));
  EXPECT_FALSE(Config::is_set("JIT"));
}

TEST_F(ConfigTest, BadVariablesAreNamed) {
  const auto error_with = [](const std::string& name, const char* value) {
    const std::string variable = "TOUCHSTONE_" + name;
    const Variable v(variable.c_str(), value);
    return error_of([] { Config::from_environment(); });
  };
  EXPECT_THAT(error_with("OPT", "9"),
              HasSubstr("TOUCHSTONE_OPT is '9'; give a number from 0 to 4"));
  EXPECT_THAT(error_with("PUSH_PERMUTES", "yes"), HasSubstr("PUSH_PERMUTES is 'yes'"));
  EXPECT_THAT(error_with("REDUCEOP_SPLIT_THRESHOLD", "0"), HasSubstr("a number from 1, or unset"));
  EXPECT_THAT(error_with("DEBUG", "2x"), HasSubstr("DEBUG is '2x'"));
}

// Each option sets its own member and reaches both bounds.
TEST_F(ConfigTest, AnOptionIsSetByNameWithinItsBounds) {
  std::vector<Config> seen{by_ranges()};
  for (const OptionInfo& row : option_table) {
    EXPECT_EQ(option_named(row.name), &row);
    for (const std::int64_t value : {row.least, row.most}) {
      const std::string variable = "TOUCHSTONE_" + std::string(row.name);
      const Variable v(variable.c_str(), std::to_string(value).c_str());
      const Config config = Config::from_environment();
      EXPECT_EQ(config, by_ranges().set(row, value)) << row.name;
      EXPECT_TRUE(config == by_ranges() || std::ranges::count(seen, config) == 0) << row.name;
      seen.push_back(config);
    }
    EXPECT_NE(seen[seen.size() - 2], seen.back()) << row.name;
    EXPECT_THROW(Config().set(row, row.least - 1), ParseError) << row.name;
    if (row.most == INT64_MAX) continue;
    EXPECT_THROW(Config().set(row, row.most + 1), ParseError) << row.name;
  }
  EXPECT_EQ(option_named("OPTION"), nullptr);
  const OptionInfo& most = *option_named("MAX_KERNEL_BUFFERS");
  EXPECT_EQ(Config().set(most, 0), Config());
  EXPECT_THAT(error_of([&] { Config().set(most, 2); }),
              HasSubstr("MAX_KERNEL_BUFFERS is 2; give 0 or a number from 3 to 1048576"));
}

TEST_F(ConfigTest, ProgramsFollowTheEnvironmentWithoutAScope) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fresh process
  const Variable opt("TOUCHSTONE_OPT", "0"), debug("DEBUG", "*");
  EXPECT_EXIT(std::exit(Config::current() == Config(0) ? 7 : 8), ::testing::ExitedWithCode(7), "");
  const Variable wrong("TOUCHSTONE_OPT", "9");
  EXPECT_EXIT(
      {
        for (int i = 0; i < 2; ++i) std::fputs(error_of([] { Config::current(); }).c_str(), stderr);
        std::exit(7);
      },
      ::testing::ExitedWithCode(7), "TOUCHSTONE_OPT.*TOUCHSTONE_OPT");
}

TEST_F(ConfigTest, ScopesNest) {
  EXPECT_EQ(Config::current(), Config::from_environment());
  const ConfigScope outer(Config(4));
  {
    const ConfigScope inner(Config(0));
    EXPECT_EQ(Config::current().opt, 0);
  }
  EXPECT_EQ(Config::current().opt, 4);
}

using Outputs = std::vector<LazyBufferPtr>;

struct SwitchCase {
  Switch id;
  std::size_t on, off;  // kernels at OPT 4 with and without it
  Outputs (*make)();
};

struct Graphs : LazyTest {
  static const std::vector<SwitchCase>& all() {
    static const std::vector<SwitchCase> cases = {
        {Switch::MergeViews, 0, 1,
         [] {
           return Outputs{counting({2, 3})
                              ->permute(std::vector{1, 0})
                              ->reshape({6})
                              ->reshape({3, 2})
                              ->permute(std::vector{1, 0})
                              ->contiguous()};
         }},
        {Switch::RemoveMovementNops, 0, 1,
         [] {
           return Outputs{counting({2, 3})
                              ->permute(std::vector{1, 0})
                              ->permute(std::vector{1, 0})
                              ->contiguous()};
         }},
        {Switch::MergeElementwiseIntoReduce, 1, 2,
         [] {
           return Outputs{sum(exp2(counting({4, 8})), {1})};
         }},
        {Switch::ShuffleMovementOps, 1, 2,
         [] {
           return Outputs{exp2(exp2(counting({2, 3}))->permute(std::vector{1, 0}))};
         }},
        {Switch::MergeElementwiseOps, 1, 2, [] { return Outputs{exp2(exp2(counting({4})))}; }},
        {Switch::MergeOneReduceIntoElementwise, 1, 2,
         [] {
           return Outputs{exp2(sum(counting({4, 8}), {1}))};
         }},
        {Switch::MergeChainBehindReduce, 3, 3,
         [] {
           const auto s = mul(exp2(sum(counting({4, 8}), {1})), number(3, {4, 1}));
           return Outputs{sum(s, {0}), s->r(Op::ReduceMax, {0})};
         }},
        {Switch::ShufflePadOps, 1, 2,
         [] {
           const auto x = counting({4});
           return Outputs{add(mul(x, x)->pad({{1, 1}}), counting({6}))};
         }},
        {Switch::SimplifySumReshapeExpandSum, 1, 2,
         [] {
           const auto s = sum(counting({4, 8}), {1});
           return Outputs{sum(s->reshape({4, 1, 1})->expand({4, 5, 1}), {1})};
         }},
        {Switch::RecomputeBeforeExpand, 1, 2,
         [] {
           return Outputs{
               mul(mul(counting({4, 1}), number(3, {4, 1}))->expand({4, 8}), counting({4, 8}))};
         }},
        {Switch::PushPermutes, 1, 2,
         [] {
           const auto s = sum(counting({4, 5, 8}), {2})->reshape({4, 5});
           return Outputs{add(s->permute(std::vector{1, 0}), counting({5, 4}))};
         }},
        {Switch::PushContiguous, 1, 2,
         [] { return Outputs{exp2(exp2(counting({4}))->contiguous())}; }},
        {Switch::PushReshapes, 1, 2,
         [] {
           const auto s = sum(counting({4, 8, 6}), {1})->reshape({2, 2, 6});
           return Outputs{add(s->permute(std::vector{1, 2, 0}), counting({2, 6, 2}))};
         }},
    };
    return cases;
  }
};

TEST_F(ConfigTest, EverySwitchSavesKernelsOrWorkAndChangesNoBit) {
  ASSERT_EQ(Graphs::all().size(), switch_table.size());
  for (std::size_t i = 0; i < switch_table.size(); ++i) {
    const SwitchCase& c = Graphs::all()[i];
    ASSERT_EQ(c.id, switch_table[i].id);
    EXPECT_EQ(count(Config(Config::kMostOpt), c.make), c.on) << switch_table[i].name;
    EXPECT_EQ(count(without(c.id), c.make), c.off) << switch_table[i].name;
    if (c.on == c.off) {
      EXPECT_LT(flops(Config(Config::kMostOpt), c.make), flops(without(c.id), c.make))
          << switch_table[i].name;
    }
    const auto results = [&](const Config& config) {
      const ConfigScope scope(config);
      std::vector<Floats> all;
      for (const LazyBufferPtr& output : c.make()) all.push_back(values(output));
      return all;
    };
    EXPECT_EQ(results(Config(Config::kMostOpt)), results(Config(0))) << switch_table[i].name;
  }
}

TEST_F(ConfigTest, TheThresholdSaysWhichReducesAreSplit) {
  Config config;
  const auto make = [] { return Outputs{sum(counting({16, 16}), {0, 1})}; };
  EXPECT_EQ(count(config, make), 1u);
  config.reduceop_split_threshold = 256;
  EXPECT_EQ(count(config, make), 2u);
}

TEST_F(ConfigTest, WithoutLazinessEveryOpRunsAsItIsBuilt) {
  Config config;
  config.lazy = false;
  const ConfigScope scope(config);
  const auto x = add(counting({4}), counting({4}));
  ASSERT_NE(x->realized(), nullptr);
  EXPECT_EQ(exp2(x)->realized()->read<float>(), (Floats{4, 16, 64, 256}));
  EXPECT_NE(LazyBuffer::random({1, 0}, {3}, "CPU")->realized(), nullptr);
  const sint n(symbolic::variable("n", 1, 4));
  EXPECT_EQ(exp2(x->shrink({{0, n}}))->realized(), nullptr);  // of unknown size
}

}  // namespace
}  // namespace touchstone
