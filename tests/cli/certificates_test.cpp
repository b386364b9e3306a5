// Certificates of answers: `simplify --certify` writes them, `verify` checks them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "command.h"
#include "touchstone/base/file.h"

namespace touchstone {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

class Certificates : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_.path() / name) << text;
    return (dir_.path() / name).string();
  }
  Answer verified(const std::string& text) const {
    return touchstone_run("verify " + write("certificates", text));
  }
  Answer certified(const std::string& questions) const {
    return touchstone_run("simplify --jsonl --certify", "", "< " + write("questions", questions));
  }
  TemporaryDirectory dir_;
};

TEST_F(Certificates, OfAnExpressionAreRight) {
  const Answer one = touchstone_run(
      "simplify --certify '(a*4 + b)//4 + c' --var a=0..10 b=0..3 c= "
      "--assume 'c < a'");
  EXPECT_EQ(one.code, 0);
  EXPECT_EQ(std::ranges::count(one.text, '\n'), 1);
  const Answer right = verified(one.text);
  EXPECT_EQ(right.code, 0);
  EXPECT_EQ(right.text,
            "right: (a*4 + b)//4 + c = a + c where a in [0, 10], b in [0, 3], c in (-inf, inf), "
            "c < a\n1 of 1 certificates right\n");
  EXPECT_EQ(verified(Json::parse(one.text).dump(2)).code, 0);  // over several lines
  EXPECT_EQ(verified(one.text + "\n\n" + one.text).code, 0);
}

TEST_F(Certificates, OfEveryAnswerToTheSampleAndToMasksOfPaddedConvolutions) {
  const auto path = std::filesystem::path(__FILE__).parent_path().parent_path() /
                    "symbolic/data/symbolic_cases.jsonl";
  std::istringstream sample(read_file(path));
  std::string questions;
  int asked = 0;
  for (std::string line; std::getline(sample, line); ++asked)
    if (asked % 8 == 0) questions += line + "\n";
  for (const int size : {5, 14})
    for (const int stride : {1, 2, 3})
      for (const int kernel : {1, 3, 4})
        for (const int pad : {1, 2}) {
          const int most = (size + 2 * pad - kernel) / stride;
          const std::string row = fmt::format("y*{} + k", stride),
                            column = fmt::format("x*{} + l", stride);
          const std::string mask =
              fmt::format("{0} <= {1} and {1} < {2} and {0} <= {3} and {3} < {2}", pad, row,
                          size + pad, column);
          Json q = {{"vars", Json::object()}, {"in", ""}};
          for (const char* name : {"x", "y"}) q["vars"][name] = {0, most};
          for (const char* name : {"k", "l"}) q["vars"][name] = {0, kernel - 1};
          q["vars"]["c"] = {0, 15};
          q["in"] = mask;
          questions += q.dump() + "\n";
          q["in"] = fmt::format("where({}, c*{} + ({} - {})*{} + {} - {}, 0)", mask, size * size,
                                row, pad, size, column, pad);
          questions += q.dump() + "\n";
        }
  const Answer answers = certified(questions);
  ASSERT_EQ(answers.code, 0);
  const Answer right = verified(answers.text);
  const auto lines = std::ranges::count(questions, '\n');
  EXPECT_EQ(right.code, 0) << right.text;
  EXPECT_THAT(right.text, HasSubstr(fmt::format("{0} of {0} certificates right", lines)));
}

TEST_F(Certificates, OfDeepNestsAreReadAgain) {
  std::string nest = "x";
  for (int i = 0; i < 700; ++i) nest = fmt::format("({} + 0)//{}*1", nest, 2 + i % 3);
  const Answer deep = touchstone_run(fmt::format("simplify --certify '{}' --var x=0..9", nest));
  EXPECT_EQ(deep.code, 0);
  EXPECT_EQ(verified(deep.text).code, 0);
}

// The minimal facts that proved a step when it was made did not prove it when read back.
TEST_F(Certificates, OfProductsOfQuotientsAreRightWhereTheyAreRead) {
  const Answer one = touchstone_run(
      "simplify --certify '(m*21 - i + 12)//8*((i*5 + m*11 + 8)//8) < 4' --var i=-100..-95 "
      "m=-5..-4");
  EXPECT_EQ(one.code, 0);
  EXPECT_EQ(verified(one.text).code, 0) << one.text;
}

TEST_F(Certificates, BesideAnotherAnswerOrChangedAreWrong) {
  const std::string question = R"({"vars":{"a":[0,10],"b":[0,3]},"in":"(a*4 + b)//4"})";
  const std::string text = certified(question + "\n").text;
  EXPECT_EQ(verified(text).code, 0);
  const auto changed = [&](const char* pointer, const Json& value) {
    Json j = Json::parse(text);
    j[Json::json_pointer(pointer)] = value;
    return verified(j.dump());
  };
  EXPECT_EQ(changed("/out", "b").code, 1);
  EXPECT_THAT(changed("/out", "b").text, HasSubstr("wrong: (a*4 + b)//4 = a where a in [0, 10]"));
  EXPECT_EQ(changed("/certificate/result", "a + 1").code, 1);
  EXPECT_EQ(changed("/certificate/start", "(a*4 + b)//5").code, 1);
  EXPECT_EQ(changed("/certificate/variables/b", {0, 4}).code, 1);
  EXPECT_EQ(changed("/certificate/steps/0/rule", "div.div").code, 1);
  EXPECT_EQ(changed("/certificate/steps/0/rule", "arithmetic").code, 1);
  EXPECT_EQ(changed("/certificate/steps/0/path", {7}).code, 1);
  EXPECT_EQ(changed("/certificate/steps/0/facts", Json::array()).code, 1);
}

/// A step that introduces a division by 0 would leave no point where the next one is wrong.
TEST_F(Certificates, ThatLoseAValueAreWrong) {
  const auto step = [](const char* rule, const char* before, const char* after,
                       Json facts = Json::array()) {
    return Json{{"rule", rule},          {"backwards", false},
                {"path", Json::array()}, {"before", before},
                {"after", after},        {"bindings", Json::object()},
                {"context", "_"},        {"facts", std::move(facts)},
                {"whole", after}};
  };
  const auto code = [&](Json variables, std::initializer_list<Json> steps) {
    Json j = {{"variables", std::move(variables)}, {"assumptions", Json::array()}};
    j["steps"] = steps;
    j["start"] = j["steps"].front()["before"];
    j["result"] = j["steps"].back()["after"];
    return verified(j.dump()).code;
  };
  const Json a = {{"a", {0, 3}}};
  EXPECT_EQ(code(a, {step("arithmetic", "a", "a + 0*1")}), 0);
  EXPECT_EQ(code(a, {step("arithmetic", "7", "7 + 1//(a - a) - 1//(a - a)")}), 1);
  EXPECT_EQ(code(a, {step("arithmetic", "a", "a + 0*(1//(a - a))"),
                     step("points", "a + 0*(1//(a - a))", "a + 1")}),
            1);
  EXPECT_EQ(code(a, {step("points", "a", "a + 1", {"0 <= a + 0*(1//(a - a))"})}), 1);
  EXPECT_EQ(code(a, {step("cases", "0", "0//a")}), 1);
  EXPECT_EQ(code(a, {step("points", "0", "0//a")}), 1);
  EXPECT_EQ(code(a, {step("arithmetic.choice", "where(a > 0, 1//a, 5)",
                          "(a > 0)*(1//a) + 5*(1 - (a > 0))")}),
            1);
  EXPECT_EQ(
      code(a, {step("arithmetic.choice", "where(a > 0, 1//a, 5)", "where(not a > 0, 5, 1//a)")}),
      0);
  EXPECT_EQ(code(a, {step("arithmetic", "1//(a + 1)", "1//(1 + a)")}), 0);
  // An operand beside a deciding part of `or` may be undefined.
  Json beside = step("points", "1", "a > 0", {"not 1//a < 100"});
  beside["path"] = {0};
  beside["whole"] = "a > 0 or 1//a < 100";
  Json j = {{"variables", a}, {"assumptions", Json::array()}, {"steps", {beside}}};
  j["start"] = "1 or 1//a < 100";
  j["result"] = "a > 0 or 1//a < 100";
  EXPECT_EQ(verified(j.dump()).code, 1);
  // Nor is it known whether the part is evaluated, in the new or the old text.
  EXPECT_EQ(code({{"z", {0, 0}}}, {step("cases", "5", "5*(1%z >= 0 or 1%z >= 0)", {"z <= 0"}),
                                   step("points", "5*(1%z >= 0 or 1%z >= 0)", "7")}),
            1);
  EXPECT_EQ(code({{"x", {0, 1}}, {"y", {0, 1}}},
                 {step("cases", "where(x, 1//y - 1, 0)", "x*(1//x) and 1//y < 1",
                       {"0 <= y", "y <= 1", "0 <= x", "x <= 1"}),
                  step("points", "x*(1//x) and 1//y < 1", "where(y == 0, 7, 0)")}),
            1);
  Json known = {{"variables", {{"x", {0, 9}}, {"y", {0, 1}}, {"z", {2, 3}}, {"w", {0, 1}}}}};
  for (const char* fact : {"y%2 == 0", "x%2 == 1"})
    known["assumptions"].push_back({{"start", fact}, {"result", fact}, {"steps", Json::array()}});
  known["steps"] = Json::array({step("cases", "1//z and x%y == 0", "0*(1//w)",
                                     {"0 <= y", "y <= 1", "0 <= x", "y%2 == 0", "x%2 == 1"})});
  known["start"] = "1//z and x%y == 0";
  known["result"] = "0*(1//w)";
  EXPECT_EQ(verified(known.dump()).code, 1);
  // Bounds above 2^63 are not negative.
  EXPECT_EQ(code({{"a", {0, 18446744073709551615U}}}, {step("points", "a", "7")}), 1);
}

/// Facts with unbounded consequences: each check ends in a moment, without gigabytes.
TEST_F(Certificates, OfManyAndLongFactsEnd) {
  const auto claim = [&](const std::vector<std::string>& facts, const char* before,
                         const char* after) {
    Json j = {{"start", before}, {"result", after}};
    for (int i = 0; i <= 200; ++i) j["variables"]["v" + std::to_string(i)] = {nullptr, nullptr};
    for (const std::string& fact : facts)
      j["assumptions"].push_back({{"start", fact}, {"result", fact}, {"steps", Json::array()}});
    j["steps"] = Json::array({Json{{"rule", "cases"},
                                   {"backwards", false},
                                   {"path", Json::array()},
                                   {"before", before},
                                   {"after", after},
                                   {"bindings", Json::object()},
                                   {"context", "_"},
                                   {"facts", facts},
                                   {"whole", after}}});
    return verified(j.dump()).code;
  };
  std::vector<std::string> squares;
  for (int i = 0; i < 30; ++i) squares.push_back(fmt::format("v{0} == v{1}*v{1}", i, i + 1));
  EXPECT_EQ(claim(squares, "v0", "v0 + v1"), 1);
  std::string sum = "7";
  for (int i = 0; i < 200; ++i) sum += fmt::format(" + {}*v{}", 2 * i + 3, i);
  EXPECT_EQ(claim({sum + " == 0"}, "v200//2 + v200%2", "v200//2 + v1"), 1);
  EXPECT_EQ(claim({"(" + sum + ")%1009 == 7"}, "v200//2 + v200%2", "v200//2 + v1"), 1);
}

TEST_F(Certificates, WithHostileTextsBreakNothing) {
  for (const char* open : {"[", "{\"a\":"}) {
    std::string deep = "{\"out\":\"a\",\"certificate\":";
    for (int i = 0; i < 200'000; ++i) deep += open;
    deep += std::string("0");
    for (int i = 0; i < 200'000; ++i) deep += *open == '[' ? ']' : '}';
    EXPECT_EQ(verified(deep + "}\n").code, 2);
  }
  const Answer line = verified(
      R"({"variables":{"z in [0, 1]\nright: 5 = 7":[0,1]},"assumptions":[],"start":"1","result":)"
      R"("1","steps":[]})");
  EXPECT_EQ(line.code, 2);
  EXPECT_THAT(line.text, testing::Not(HasSubstr("\nright: 5 = 7")));
  EXPECT_EQ(
      verified(R"({"variables":[[0,1]],"assumptions":[],"start":"1","result":"1","steps":[]})")
          .code,
      2);
  const Answer why = verified(R"({"out":"a","certificate":null,"uncertified":"x\nright: 5 = 7"})");
  EXPECT_THAT(why.text, testing::Not(HasSubstr("\nright")));
}

TEST_F(Certificates, ThatAreNoneAreNamed) {
  EXPECT_EQ(verified("").code, 4);
  const std::pair<const char*, const char*> texts[] = {
      {"x", "not a certificate: line 1, column 1"},
      {"[1]", "expected an object"},
      {"3", "expected an object"},
      {"{}", "\"variables\" is missing"},
      {R"({"variables":{},"assumptions":[],"start":"a","result":"a","steps":[{}]})", "is missing"},
      {R"({"variables":{},"assumptions":[],"start":"a +","result":"a","steps":[]})", "column 4"},
      {R"({"variables":{"a":[0]},"assumptions":[],"start":"a","result":"a","steps":[]})", ""},
      {R"({"certificate":7,"out":"a"})", ""},
      {R"({"certificate":{},"out":"a"})", "is missing"},
      {R"({"certificate":null})", "\"uncertified\" must be a string"},
      {R"({"error":3})", "\"error\" must be a string"},
  };
  for (const auto& [text, part] : texts) {
    const Answer run = verified(std::string(text) + "\n");
    EXPECT_EQ(run.code, 2) << text;
    EXPECT_THAT(run.text, HasSubstr("line 1: "));
    EXPECT_THAT(run.text, HasSubstr(part));
    EXPECT_THAT(run.text, HasSubstr("0 of 1 certificates right, 1 could not be read"));
  }
  const Answer none = verified(R"({"out":"a","certificate":null,"uncertified":"too large"})");
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.text, HasSubstr("without a certificate: too large"));
  EXPECT_EQ(verified(R"({"error":"in: column 1"})").code, 4);
  EXPECT_EQ(touchstone_run("verify none").code, 2);
  // Variables without a range are unbounded, so testing the points of `a` is impossible.
  EXPECT_EQ(
      verified(R"({"variables":{},"assumptions":[],"start":"a","result":"a*1","steps":[{"rule":)"
               R"("points","backwards":false,"path":[],"before":"a","after":"a*1","bindings":{},)"
               R"("context":"_","facts":[],"whole":"a*1"}]})")
          .code,
      1);
}

TEST_F(Certificates, OfQuestionsWithoutStepsSayWhy) {
  std::string sum = "x";
  for (int i = 0; i < 6'000; ++i) sum += " + x";
  const Answer answers =
      certified(R"({"vars":{"x":[0,9]},"in":")" + sum + "\"}\n" + R"({"in":"1//0"})" + "\n");
  EXPECT_EQ(answers.code, 2);
  EXPECT_THAT(answers.text, HasSubstr("\"certificate\":null,\"uncertified\":\"the expression has"));
  const Answer run = verified(answers.text);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.text, HasSubstr("no answer: in: column 2: division by zero"));
  EXPECT_THAT(
      run.text,
      HasSubstr("0 of 1 certificates right, 1 answers without one; 1 questions had no answer"));
  EXPECT_EQ(touchstone_run("simplify --certify 'x' --var x --steps").code, 0);
  EXPECT_EQ(touchstone_run("simplify --certify x --var x --html -").code, 2);
  EXPECT_EQ(touchstone_run("simplify --certify").code, 2);
  EXPECT_EQ(touchstone_run("simplify --certify --replay none").code, 2);
}

}  // namespace
}  // namespace touchstone
