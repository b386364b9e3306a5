#include "touchstone/lazy/schedule_text.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "../support/error_of.h"
#include "lazy_device.h"
#include "touchstone/base/file.h"

namespace touchstone {
namespace {

using test::error_of;
using ::testing::HasSubstr;

class ScheduleShown : public LazyTest {
  ConfigScope by_fusion_{Config()};

 protected:
  static std::vector<LazyBufferPtr> graph() {
    const auto x = counting({4, 8}), y = counting({4, 1});
    const auto s = exp2(sum(x, {1}))->contiguous();
    return {mul(s->expand({4, 8}), x)->contiguous(), add(s, y)};
  }
  static std::string content(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  static std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
      ++n;
    return n;
  }
};

TEST_F(ScheduleShown, IsALineAnItemWithBuffersNumberedFrom1) {
  const auto outputs = graph();
  EXPECT_EQ(str(schedule(outputs)),
            "  0 CPU    r_4_8                buffer 2 = float32 (4, 1) from 1\n"
            "  1 CPU    E_4_8                buffer 3 = float32 (4, 8) from 2, 1\n"
            "  2 CPU    E_4                  buffer 5 = float32 (4, 1) from 2, 4\n");
}

TEST_F(ScheduleShown, JsonHoldsEveryKernelAndWhatFeedsIt) {
  const auto outputs = graph();
  const std::string text = to_json(schedule(outputs));
  EXPECT_EQ(text, to_json(schedule(outputs)));
  EXPECT_THAT(text, HasSubstr("\"format\": \"touchstone-schedule 1\""));
  EXPECT_THAT(text, HasSubstr("\"name\": \"r_4_8\""));
  EXPECT_EQ(count(text, "\"kind\": \"KERNEL\""), 3u);
  EXPECT_EQ(count(text, "\"made_by\": null"), 2u);
}

TEST_F(ScheduleShown, PicturesHaveANodeAnItemAndAnEdgeABufferBetween) {
  const auto outputs = graph();
  const auto items = schedule(outputs);
  const std::string dot = to_dot(items, "a \"b\"");
  EXPECT_THAT(dot, HasSubstr("digraph \"a \\\"b\\\"\" {"));
  EXPECT_EQ(count(dot, " -> "), 2u);
  EXPECT_EQ(count(dot, "class=reduce"), 1u);
  EXPECT_EQ(count(dot, "class=elementwise"), 2u);
  EXPECT_THAT(dot, HasSubstr("i0 [id=i0, class=reduce, label=\"0  r_4_8\\n2 = float32 (4, 1)\\n"
                             "reads 1\\n"));
}

// 40 items that each read all earlier ones: a chain of 39 edges orders them.
TEST_F(ScheduleShown, OfManyEdgesThoseThatALongerWayImpliesAreLeftOut) {
  const auto drawn = [](int n) {
    std::vector<LazyBufferPtr> made{LazyBuffer::random({1, 0}, {4}, "CPU")->contiguous()};
    while (std::ssize(made) < n) {
      LazyBufferPtr sum = made[0];
      for (std::size_t i = 1; i < made.size(); ++i) sum = add(sum, made[i]);
      made.push_back(exp2(sum)->contiguous());
    }
    return to_dot(schedule(std::vector{made.back()}));
  };
  EXPECT_GT(count(drawn(12), " -> "), 50u);
  EXPECT_LT(count(drawn(40), " -> "), 60u);
}

TEST_F(ScheduleShown, VariablesAndLoadsAreShown) {
  const sint n(symbolic::variable("n", 1, 4));
  const auto far = LazyBuffer::random({1, 0}, {4}, "CPU")->copy_to_device("CLANG");
  const auto out = exp2(far->shrink({{0, n}}));
  const auto items = schedule(std::vector{out}, {{"n", 3}});
  EXPECT_THAT(str(items), HasSubstr("n = 3"));
  EXPECT_THAT(str(items), HasSubstr("from"));
  EXPECT_THAT(to_json(items), HasSubstr("\"n\": 3"));
  EXPECT_THAT(to_dot(items), HasSubstr("class=load, label=\"0  rand"));
}

TEST_F(ScheduleShown, GraphAndTraceGoToTheirFiles) {
  const TemporaryDirectory folder;
  const std::string base = folder.path() / "log";
  Config config;
  config.graph = base + ".dot";
  config.trace = base + ".json";
  {
    const ConfigScope scope(config);
    realize(graph());
    realize(graph());
  }
  EXPECT_EQ(count(content(config.graph), "digraph"), 2u);
  const std::string trace = content(config.trace);
  EXPECT_EQ(count(trace, "\"ph\":\"X\""), 6u);
  EXPECT_THAT(trace, HasSubstr("\"name\":\"r_4_8\",\"cat\":\"kernel\""));
  EXPECT_TRUE(trace.starts_with("[\n{") && trace.ends_with("}\n]\n")) << trace;
  config.graph = "/nowhere/at/all.dot";
  const ConfigScope scope(config);
  EXPECT_THAT(error_of([] { realize(graph()); }),
              HasSubstr("'/nowhere/at/all.dot' cannot be written"));
}

TEST_F(ScheduleShown, DebugTellsMoreAtEachLevel) {
  std::size_t before = 0;
  for (int level = 0; level <= 6; ++level) {
    Config config;
    config.debug = level;
    const ConfigScope scope(config);
    const auto x = counting({4, 8});
    const auto out = mul(exp2(sum(x, {1}))->expand({4, 8}), x);
    ::testing::internal::CaptureStderr();
    realize(std::vector{out});
    const std::string text = ::testing::internal::GetCapturedStderr();
    if (level == 0) {
      EXPECT_TRUE(text.empty());
      continue;
    }
    if (level >= 2) {
      EXPECT_THAT(text, HasSubstr("GFLOPS"));
    }
    if (level != 4) {  // CPU has no code
      EXPECT_GT(text.size(), before) << level << text;
    }
    before = text.size();
  }
}

}  // namespace
}  // namespace touchstone
