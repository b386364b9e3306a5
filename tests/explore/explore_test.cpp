#include <gtest/gtest.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "touchstone/cli/explore/answers.h"
#include "touchstone/cli/explore/explorer.h"

namespace touchstone::explore {
namespace {

Json ask(const std::string& line) {
  Explorer explorer;
  return Json::parse(explorer.answer(line));
}

std::string whole(const Json& parts) {
  return parts[0].get<std::string>() + parts[1].get<std::string>() + parts[2].get<std::string>();
}

TEST(Explorer, StepsAreAnUnbrokenChainFromTheTextToTheResult) {
  const Json d = ask(R"q({"ask":"steps","vars":{"x":[0,99]},"in":"x//12*12 + x%12//4*4 + x%4"})q");
  EXPECT_EQ(d["start"], "x//12*12 + x%12//4*4 + x%4");
  EXPECT_EQ(d["result"], "x");
  EXPECT_TRUE(d["good"].get<bool>());
  EXPECT_THAT(d["given"], testing::ElementsAre("x in [0, 99]"));
  std::string now = d["start"];
  for (const Json& s : d["steps"]) {
    EXPECT_EQ(whole(s["before"]), now);
    now = whole(s["after"]);
    EXPECT_TRUE(s["explained"].get<bool>());
  }
  EXPECT_EQ(now, d["result"].get<std::string>());
  EXPECT_GE(d["steps"].size(), 2U);
}

TEST(Explorer, TextsInOtherLanguagesAreTranslated) {
  const Json t =
      ask(R"({"ask":"translate","from":"c","in":"threadIdx.x >> 2","assume":["threadIdx.x < n"]})");
  EXPECT_EQ(t["results"][0], "threadIdx_x//4");
  EXPECT_EQ(t["vars"]["threadIdx_x"], Json({0, 1023}));
  EXPECT_EQ(t["assume"][0], "threadIdx_x < n");
  const Json bad = ask(R"({"ask":"translate","from":"c","in":"(x"})");
  EXPECT_NE(bad["error"].get<std::string>().find("expected"), std::string::npos);
}

TEST(Explorer, ValuesOfBothFormsStandInTheOrderOfTheirPoints) {
  const Json t = ask(
      R"q({"ask":"values","written":"x//y","short":"x","assume":["x > 0"],"over":[["x",0,1],["y",0,2]]})q");
  EXPECT_EQ(t["written"], Json::parse("[null,0,0,null,1,0]"));
  EXPECT_EQ(t["short"], Json::parse("[0,0,0,1,1,1]"));
  EXPECT_EQ(t["asked"], Json::parse("[0,0,0,1,1,1]"));
  EXPECT_FALSE(t["agree"].get<bool>());  // x = 1, y = 2
  const Json large =
      ask(R"q({"ask":"values","written":"x*9007199254740993","short":"x","over":[["x",1,1]]})q");
  EXPECT_EQ(large["written"][0], "9007199254740993");
}

TEST(Explorer, AClaimIsProvedByAllItsPointsOnlyWhereTheyAreAll) {
  const Json all = ask(R"q({"ask":"prove","claim":"x%3 -> x ; 0 <= x and x < 3"})q");
  EXPECT_EQ(all["verdict"], "proved");
  EXPECT_EQ(all["points"], 3);
  const Json some =
      ask(R"q({"ask":"prove","claim":"x*x != 2*y*y or x == 0 -> 1","within":[-2,2]})q");
  EXPECT_EQ(some["verdict"], "open");
  EXPECT_EQ(some["points"], 25);
  const Json laws = ask(R"q({"ask":"prove","claim":"x//2*2 + x%2 -> x"})q");
  EXPECT_EQ(laws["verdict"], "proved");
  EXPECT_EQ(laws["text"], "true, by laws, with a certificate");
  const Json wrong = ask(R"q({"ask":"prove","claim":"x//-2 -> -(x//2)"})q");
  EXPECT_EQ(wrong["verdict"], "refuted");
  EXPECT_EQ(wrong["point"]["x"], 1);
  // True for small numbers, false beyond.
  EXPECT_EQ(ask(R"q({"ask":"prove","claim":"(x < 50) -> 1","within":[-9,9]})q")["verdict"],
            "refuted");
}

TEST(Explorer, WitnessesShowWhatNoSingleViewCanRead) {
  const Json s = ask(R"q({"ask":"view","words":"4,6 shrink 0:4,0:3 reshape 12"})q");
  const Json& w = s["steps"][2]["witnesses"];
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0]["on"], 1);
  // Points a, b, c, d with b - a = d - c whose addresses differ by unequal amounts.
  ASSERT_EQ(w[0]["points"].size(), 4U);
  const auto at = [&](int i) { return w[0]["points"][static_cast<std::size_t>(i)][0].get<int>(); };
  const auto reads = [&](int i) { return w[0]["reads"][static_cast<std::size_t>(i)].get<int>(); };
  EXPECT_EQ(at(1) - at(0), at(3) - at(2));
  EXPECT_NE(reads(1) - reads(0), reads(3) - reads(2));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(reads(i), at(i) / 3 * 6 + at(i) % 3);
  EXPECT_TRUE(s["steps"][1]["witnesses"].empty());
}

TEST(Explorer, AKernelHasItsCodeLinkedAndItsValues) {
  const Json a =
      ask(R"q({"ask":"kernel","text":"sum(x[2,3] * 2, axis=1)","inputs":{"x":"1 2 3 4 5 6.5"}})q");
  ASSERT_EQ(a["kernels"].size(), 1U);
  const Json& k = a["kernels"][0];
  EXPECT_EQ(k["output"][0][0], "12.0");
  EXPECT_EQ(k["output"][1][0], "31.0");
  EXPECT_EQ(k["output"][0][1], "0x41400000");
  EXPECT_EQ(k["ast"].size(), k["node"].size());
  EXPECT_EQ(k["uops"].size(), k["nodes"].size());
  EXPECT_EQ(k["uops"].size(), k["lines"].size());
  // The line of the store maps to the STORE, the accumulator's to the reduce.
  for (std::size_t i = 0; i < k["uops"].size(); ++i) {
    const std::string step = k["uops"][i];
    const int node = k["nodes"][i], line = k["lines"][i];
    std::string of;
    for (std::size_t l = 0; l < k["ast"].size(); ++l)
      if (k["node"][l] == node) of = k["ast"][l];
    if (step.find("STORE") != std::string::npos) {
      EXPECT_NE(of.find("STORE"), std::string::npos) << step;
      EXPECT_NE(k["c"][static_cast<std::size_t>(line)].get<std::string>().find("] = "),
                std::string::npos);
    }
    if (step.find("DEFINE_ACC") != std::string::npos) {
      EXPECT_NE(of.find("SUM"), std::string::npos) << step << " of " << of;
    }
  }
}

TEST(Explorer, AProgramRunsKernelByKernel) {
  const Json a = ask(
      R"q({"ask":"kernel","text":"float32 3,2: 1 2 3 4 5 6; reduce_sum %0 1; contiguous %1; expand %2 3,2; sub %0 %3"})q");
  ASSERT_EQ(a["kernels"].size(), 2U);
  const std::vector<std::string> sums{"3.0", "7.0", "11.0"},
      rest{"-2.0", "-1.0", "-4.0", "-3.0", "-6.0", "-5.0"};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(a["kernels"][0]["output"][i][0], sums[i]);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(a["kernels"][1]["output"][i][0], rest[i]);
  EXPECT_EQ(a["kernels"][0]["inputs"][0]["name"], "%0");
}

TEST(Explorer, AnElementSaysWhereItsIntervalComesFrom) {
  const Json e = ask(R"q({"ask":"element","text":"x[1] / 3","inputs":{"x":"1"},"at":[0]})q");
  const Json& last = e["nodes"].back();
  EXPECT_EQ(last["reference"], "0x3eaaaaab (0.33333334)");
  EXPECT_EQ(last["exact"].get<std::string>().substr(0, 12), "0.3333333333");
}

TEST(Explorer, BadQuestionsAreAnsweredByWhatTheCommandLineSays) {
  const auto error = [](const std::string& line) { return ask(line)["error"].get<std::string>(); };
  EXPECT_THAT(error("no JSON"), testing::HasSubstr("not a JSON object"));
  EXPECT_THAT(error("[1]"), testing::HasSubstr("not a JSON object"));
  EXPECT_THAT(error(R"q({"ask":"veiw"})q"), testing::HasSubstr("'view'"));
  EXPECT_THAT(error(R"q({"ask":"simplify","vars":{"a":[0,2]},"in":"a * * 2"})q"),
              testing::HasSubstr("column 5"));
  EXPECT_THAT(error(R"q({"ask":"steps","vars":{"a":[0,3]},"in":"a +"})q"),
              testing::HasSubstr("column"));
  EXPECT_THAT(error(R"q({"ask":"view","words":"4,6 permuet 1,0"})q"),
              testing::HasSubstr("permute"));
  EXPECT_THAT(error(R"q({"ask":"kernel","text":"softmax(x[4,9]"})q"), testing::HasSubstr("^"));
  EXPECT_THAT(error(R"q({"ask":"kernel","text":"matmul(a[4096,4096], b[4096,4096])"})q"),
              testing::HasSubstr("elements"));
  EXPECT_THAT(error(std::string(100'000, '[')), testing::HasSubstr("deep"));
  EXPECT_THAT(error("{\"ask\":\"simplify\",\"in\":\"" + std::string(100'000, '(') + "\"}"),
              testing::HasSubstr("in: "));
}

}  // namespace
}  // namespace touchstone::explore
