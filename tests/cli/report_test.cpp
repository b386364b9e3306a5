#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "command.h"

// The content of the pages of `touchstone steps` and --html, read from their embedded data.

namespace touchstone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

bool can_lay_out() { return std::system("dot -V > /dev/null 2>&1") == 0; }

json report_of(const std::string& page) {
  const std::string mark = "const report = ";
  const std::size_t from = page.find(mark);
  if (from == std::string::npos) return {};
  return json::parse(page.substr(from + mark.size(), page.find(";\n", from) - from - mark.size()));
}

/// A drawn graph: node lines, box positions and mark counts.
struct Drawn {
  std::multiset<std::string> nodes;
  std::vector<std::tuple<double, double, double>> boxes;  // x, y, half the width
  int was = 0, now = 0;
};

Drawn drawn(const json& report, const json& graph) {
  constexpr int kWas = 1, kNow = 2;
  Drawn d;
  for (const json& box : graph["boxes"]) {
    d.nodes.insert(report["nodes"][box[0].get<std::size_t>()][2]);
    d.boxes.emplace_back(box[1], box[2], box[3].get<double>() / 2);
    d.was += box[4] == kWas ? 1 : 0;
    d.now += box[4] == kNow ? 1 : 0;
  }
  return d;
}

// Boxes do not overlap and lie inside the picture; edges begin and end at box borders.
void expect_layout(const json& graph, const Drawn& d) {
  constexpr double kHalf = 17, kNear = 2;
  const double wide = graph["size"][0], high = graph["size"][1];
  for (std::size_t i = 0; i < d.boxes.size(); ++i) {
    const auto [x, y, half] = d.boxes[i];
    EXPECT_TRUE(x >= half && x <= wide - half && y >= kHalf && y <= high - kHalf);
    for (std::size_t j = 0; j < i; ++j) {
      const auto [u, v, other] = d.boxes[j];
      EXPECT_TRUE(std::abs(x - u) >= half + other || std::abs(y - v) >= 2 * kHalf);
    }
  }
  const auto at_a_box = [&](double x, double y) {
    for (const auto& [u, v, half] : d.boxes)
      if (std::abs(std::max(std::abs(x - u) - half, std::abs(y - v) - kHalf)) < kNear) return true;
    return false;
  };
  for (const json& edge : graph["edges"]) {
    const std::vector<double> p = edge;
    ASSERT_GE(p.size(), 8U);
    EXPECT_EQ((p.size() - 2) % 6, 0U);
    EXPECT_TRUE(at_a_box(p[0], p[1]));
    EXPECT_TRUE(at_a_box(p[p.size() - 2], p[p.size() - 1]));
  }
}

TEST(Steps, GraphsGoOnWhereTheLastMatchEnded) {
  if (!can_lay_out()) GTEST_SKIP() << "no Graphviz; install graphviz";
  const Answer run = touchstone_run(
      "steps --program 'float32 2,3: 1 2; exp2 %0; reduce_sum %1 1; reshape %2 2,1; expand %3 2,3; "
      "mul %1 %4; permute %5 1,0; contiguous %6' -o -");
  ASSERT_EQ(run.code, 0) << run.text;
  const json report = report_of(run.text);
  std::size_t matches = 0;
  std::multiset<std::string> before_next;
  for (const json& part : report["parts"]) {
    if (part["kind"] != "match") continue;
    for (const json& match : part["steps"]["list"]) {
      ++matches;
      const json &before = report["graphs"][match[3][0].get<std::size_t>()],
                 &after = report["graphs"][match[3][1].get<std::size_t>()];
      const Drawn first = drawn(report, before), second = drawn(report, after);
      EXPECT_EQ(first.was, 1);
      EXPECT_EQ(second.now, 1);
      EXPECT_EQ(first.now + second.was, 0);
      EXPECT_TRUE(first.nodes.contains(report["nodes"][match[1].get<std::size_t>()][2]));
      EXPECT_TRUE(second.nodes.contains(report["nodes"][match[2].get<std::size_t>()][2]));
      if (!before_next.empty()) {
        EXPECT_EQ(first.nodes, before_next) << part["name"];
      }
      before_next = second.nodes;
      expect_layout(before, first);
      expect_layout(after, second);
    }
    before_next.clear();
  }
  EXPECT_GT(matches, 5U);
  const json& kernels = report["parts"].back();
  EXPECT_EQ(kernels["kind"], "kernel");
  EXPECT_EQ(kernels["steps"].size(), 2U);
}

TEST(Steps, AsManyGraphsAsAskedFor) {
  if (!can_lay_out()) GTEST_SKIP() << "no Graphviz; install graphviz";
  const std::string ask =
      "steps --program 'float32 2,3: 1; exp2 %0; permute %1 1,0; reduce_sum %2 1' -o - ";
  std::size_t with = 0, all = 0;
  const json report = report_of(touchstone_run(ask + "--graphs 2").text);
  for (const json& part : report["parts"])
    if (part["kind"] == "match")
      for (const json& match : part["steps"]["list"]) {
        ++all;
        with += match[3].is_null() ? 0 : 1;
      }
  EXPECT_EQ(with, 2U);
  EXPECT_GT(all, 2U);
  // No graphs need no Graphviz.
  const Answer none = touchstone_run(ask + "--graphs 0", "PATH=/nowhere");
  EXPECT_EQ(none.code, 0) << none.text;
  EXPECT_TRUE(report_of(none.text)["graphs"].empty());
  const Answer missing = touchstone_run(ask, "PATH=/nowhere");
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.text, HasSubstr("install graphviz, or omit the graphs with --graphs 0"));
}

TEST(Steps, BadQuestionsAreNamed) {
  for (const auto& [ask, says] : std::vector<std::pair<std::string, std::string>>{
           {"steps softmax", "--output"},
           {"steps -o -", "give a model, or a program with --program"},
           {"steps softmaxx -o -", "softmax"},
           {"steps --program 'float32 2: 1; exp3 %0' -o -", "exp3"},
           {"steps softmax --graphs -1 -o -", "--graphs"},
           {"kernels --html -", "give a model"},
           {"kernels softmax --html - --json", "--html"},
           {"simplify --html - --jsonl", "need an expression"},
           {"simplify a --var a=0..1 --html - --format json", "--html"}}) {
    const Answer run = touchstone_run(ask);
    EXPECT_EQ(run.code, 2) << ask;
    EXPECT_THAT(run.text, HasSubstr(says)) << ask;
    EXPECT_THAT(run.text, testing::Not(HasSubstr("<!doctype"))) << ask;
  }
}

TEST(Steps, EveryPageHasTheSameScript) {
  const auto without_data = [](const std::string& page) {
    const std::size_t from = page.find("const report = ");
    return page.substr(0, from) + page.substr(page.find(";\n", from));
  };
  const std::string first =
      without_data(touchstone_run("kernels --program 'float32 2: 1; neg %0' --html -").text);
  EXPECT_THAT(first, HasSubstr("</html>"));
  for (const char* ask :
       {"view 2,3 --html -", "simplify 'a//1' --var a=0..3 --html -",
        "steps --program 'float32 2: 1; neg %0' --graphs 0 -o -", "kernels softmax --html -"})
    EXPECT_EQ(without_data(touchstone_run(ask).text), first) << ask;
}

}  // namespace
}  // namespace touchstone
