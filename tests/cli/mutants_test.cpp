#include <gtest/gtest.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "command.h"
#include "touchstone/cli/fuzz/hunt_report.h"

// The tables of a mutant hunt, which an ordinary build cannot run.

namespace touchstone {
namespace {

using testing::HasSubstr;
using testing::Not;

cli::Hunt made_hunt(std::string_view name, std::string_view table, std::uint64_t seed, bool found,
                    std::int64_t cases, double seconds) {
  cli::Hunt hunt{{name, table, "a.cpp:7", "it adds"}, seed, {}};
  hunt.result.found = found;
  hunt.result.cases = cases;
  hunt.result.seconds = seconds;
  if (found) {
    hunt.result.area = "view";
    hunt.result.relation = "equal";
    hunt.result.text = "4 flip 0";
    hunt.result.extent = {.ops = 1, .dim = 2};
    hunt.result.shrink_runs = 10;
    hunt.result.shrink_seconds = 0.5;
  }
  return hunt;
}

std::vector<cli::Hunt> four_hunts() {
  return {made_hunt("", "", 1, false, 500, 9), made_hunt("one", "views", 1, true, 100, 3),
          made_hunt("one", "views", 2, true, 300, 70), made_hunt("two", "lazy", 1, false, 900, 8)};
}

TEST(HuntReport, JsonHasBothTables) {
  const std::string text = cli::hunts_json(four_hunts());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  const auto json = nlohmann::json::parse(text);
  ASSERT_EQ(json["hunts"].size(), 4);
  EXPECT_EQ(json["hunts"][0]["mutant"], "");
  EXPECT_EQ(json["hunts"][2]["seed"], 2);
  EXPECT_EQ(json["hunts"][2]["cases"], 300);
  EXPECT_EQ(json["hunts"][2]["text"], "4 flip 0");
  EXPECT_EQ(json["hunts"][3]["found"], false);
  EXPECT_EQ(nlohmann::json::parse(cli::hunt_json(four_hunts()[2])), json["hunts"][2]);
  // Per table and in total; the hunt without a mutant does not count.
  ASSERT_EQ(json["summary"].size(), 3);
  EXPECT_EQ(json["summary"][0],
            nlohmann::json::parse(R"({"of":"views","hunts":2,"found":2,"in_time":1,"small":2,
                                      "cheap":2,"median_cases":300.0,"median_seconds":70.0})"));
  EXPECT_EQ(json["summary"][1]["of"], "lazy");
  EXPECT_EQ(json["summary"][1]["found"], 0);
  EXPECT_EQ(json["summary"][2]["of"], "all");
  EXPECT_EQ(json["summary"][2]["hunts"], 3);
  EXPECT_EQ(json["summary"][2]["found"], 2);
}

TEST(HuntReport, MarkdownHasTheSame) {
  const std::vector<cli::Hunt> hunts = four_hunts();
  const std::span all(hunts);
  EXPECT_EQ(cli::hunt_row(all.subspan(1, 2)),
            "| one | views | view: equal | 300 (300) | 70.0 (70.0) | 1 (1) | 2 (2) | 10 (10) | "
            "0.50 (0.50) | `4 flip 0` |");
  EXPECT_THAT(cli::hunt_row(all.subspan(3, 1)), HasSubstr("**survives** | 900 | 8.0 |"));
  const std::string summary = cli::hunt_summary(hunts);
  EXPECT_THAT(summary, HasSubstr("\n| views | 2 | 2 (100.0 %) | 1 (50.0 %) | 300 | 70.0 |"));
  EXPECT_THAT(summary, HasSubstr("\n| all | 3 | 2 (66.7 %) |"));
  EXPECT_THAT(summary, HasSubstr("\nsurvives: two (seed 1, a.cpp:7): it adds\n"));
  EXPECT_THAT(summary, Not(HasSubstr("survives: one")));
}

TEST(HuntReport, AMutantIsALine) {
  EXPECT_EQ(nlohmann::json::parse(cli::mutant_json({"one", "views", "a.cpp:7", "it adds"})),
            nlohmann::json::parse(
                R"({"mutant":"one","table":"views","where":"a.cpp:7","description":"it adds"})"));
}

TEST(CliMutants, AnOrdinaryBuildGivesNoJson) {
  EXPECT_EQ(touchstone_run("mutants --json 2>/dev/null #").text, "");
  EXPECT_EQ(touchstone_run("mutants --json --list").code, 2);
}

}  // namespace
}  // namespace touchstone
