#include "touchstone/symbolic/notation/jsonl.h"

#include <gtest/gtest.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace touchstone::symbolic {
namespace {

std::string answer_json(const std::string& line) {
  static Session session;
  return symbolic::answer_json(line, session);
}

using Json = nlohmann::json;
using testing::HasSubstr;

std::string error(const std::string& line) {
  const Json j = Json::parse(answer_json(line));
  return j.contains("error") ? j["error"].get<std::string>() : "no error: " + j.dump();
}

std::string times(const std::string& s, int count) {
  std::string r;
  for (int i = 0; i < count; ++i) r += s;
  return r;
}

TEST(Jsonl, AnswersInTheFormAsked) {
  const std::string line =
      answer_json(R"({"vars":{"a":[0,8]},"assume":["a != 8"],"in":"a//2*2 + 0"})");
  EXPECT_THAT(line,
              testing::MatchesRegex(R"(\{"out":"a//2\*2","size":5,"min":0,"max":6,"ns":[0-9]+\})"));
  EXPECT_THAT(answer_json(R"({"in":"2*3"})"), HasSubstr(R"("out":"6","size":1,"min":6,"max":6,)"));
}

TEST(Jsonl, NullIsOpenBothWays) {
  EXPECT_THAT(answer_json(R"({"vars":{"a":[null,8],"b":[0,null]},"in":"a"})"),
              HasSubstr(R"("min":null,"max":8,)"));
  EXPECT_THAT(answer_json(R"({"vars":{"a":[null,8],"b":[0,null]},"in":"b*2"})"),
              HasSubstr(R"("min":0,"max":null,)"));
  EXPECT_THAT(answer_json(R"({"vars":{"a":[null,null]},"in":"a%5 "})"),
              HasSubstr(R"("min":0,"max":4,)"));
}

TEST(Jsonl, TakesIntegersOfAnyLength) {
  const std::string digits = "12345678901234567890123456789";
  EXPECT_THAT(answer_json(R"({"vars":{"a":[-)" + digits + "," + digits + R"(]},"in":"a*10"})"),
              HasSubstr(R"("min":-)" + digits + R"(0,"max":)" + digits + "0,"));
  EXPECT_THAT(answer_json(R"({"in":")" + digits + R"( + 1"})"), HasSubstr("789012345678901234567"));
  EXPECT_THAT(answer_json(R"({"vars":{"a":[0,18446744073709551615]},"in":"a"})"),
              HasSubstr(R"("max":18446744073709551615,)"));
  EXPECT_THAT(answer_json(R"({"vars":{"a":[0,)" + times("9", 4'000) + R"(]},"in":"a + 1"})"),
              HasSubstr("\"max\":1" + times("0", 4'000)));
}

TEST(Jsonl, IgnoresMembersOfOtherNames) {
  EXPECT_THAT(answer_json(R"({"id":[{"in":3},[]],"in":"1","vars":{},"want":null,"size_want":1})"),
              HasSubstr(R"("out":"1")"));
}

TEST(Jsonl, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(error("nope"), HasSubstr("column 2: not JSON"));
  EXPECT_THAT(error(R"({"in":"1")"), HasSubstr("column 10: not JSON"));
  EXPECT_THAT(error(R"({"in":"1"} x)"), HasSubstr("column 12"));
  EXPECT_THAT(error("[1]"), HasSubstr("expected an object"));
  EXPECT_THAT(error("7"), HasSubstr("expected an object"));
  EXPECT_THAT(error("{}"), HasSubstr("\"in\" is missing"));
  EXPECT_THAT(error(R"({"in":3})"),
              HasSubstr("in: expected the expression as a string, found \"3\""));
  EXPECT_THAT(error(R"({"in":{}})"), HasSubstr("in: expected the expression as a string"));
  EXPECT_THAT(error(R"({"in":"1","in":"2"})"), HasSubstr("\"in\" is given twice"));
  EXPECT_THAT(error(R"({"vars":[],"in":"1"})"), HasSubstr("vars: expected an object"));
  EXPECT_THAT(error(R"({"vars":null,"in":"1"})"), HasSubstr("vars: expected an object"));
  EXPECT_THAT(error(R"({"vars":{"a":8},"in":"1"})"), HasSubstr("vars.\"a\": expected two bounds"));
  EXPECT_THAT(error(R"({"vars":{"a":[0]},"in":"1"})"), HasSubstr("found 1 values"));
  EXPECT_THAT(error(R"({"vars":{"a":[]},"in":"1"})"), HasSubstr("found 0 values"));
  EXPECT_THAT(error(R"({"vars":{"a":[0,1,2]},"in":"1"})"), HasSubstr("more than two"));
  EXPECT_THAT(error(R"({"vars":{"a":[0,1.5]},"in":"1"})"), HasSubstr("found \"1.5\""));
  EXPECT_THAT(error(R"({"vars":{"a":[0,1e3]},"in":"1"})"), HasSubstr("found \"1e3\""));
  EXPECT_THAT(error(R"({"vars":{"a":[[0],1]},"in":"1"})"), HasSubstr("found a list"));
  EXPECT_THAT(error(R"({"vars":{"a":[true,1]},"in":"1"})"), HasSubstr("found true"));
  EXPECT_THAT(error(R"({"vars":{"a":[0,1],"a":[0,1]},"in":"1"})"), HasSubstr("twice"));
  EXPECT_THAT(error(R"({"vars":{"a":[1,0]},"in":"1"})"), HasSubstr("no values"));
  EXPECT_THAT(error(R"({"vars":{"a b":[0,1]},"in":"1"})"), HasSubstr("is not a name"));
  EXPECT_THAT(error(R"({"assume":"a<1","in":"1"})"), HasSubstr("assume: expected a list"));
  EXPECT_THAT(error(R"({"assume":["1",2],"in":"1"})"),
              HasSubstr("assume[1]: expected a condition"));
  EXPECT_THAT(error(R"({"in":"1 +"})"), HasSubstr("in: column 4: expected a number"));
  EXPECT_THAT(error(R"({"in":"b"})"), HasSubstr("in: column 1: unknown name \"b\""));
  EXPECT_THAT(error(R"({"in":"7 // 0"})"), HasSubstr("in: column 3: division by zero"));
  EXPECT_THAT(error(R"({"in":"é"})"), HasSubstr("in: column 1"));
  EXPECT_THAT(error("{\"in\":\"\xff\"}"), HasSubstr("not JSON"));
  EXPECT_THAT(error(R"({"in":"\u0000"})"), HasSubstr("in: column 1"));
  EXPECT_THAT(error(R"({"vars":{"a":[0,)" + times("9", 6'000) + R"(]},"in":"a"})"),
              HasSubstr("column"));
}

TEST(Jsonl, TellsWhatATranslationTakesForGranted) {
  const Json note = Json::parse(answer_json(R"({"in":"(int)x","from":"c"})"));
  EXPECT_EQ(note["out"], "x");
  EXPECT_THAT(note["notes"].at(0), HasSubstr("is taken to fit int"));
  EXPECT_FALSE(Json::parse(answer_json(R"({"in":"x","from":"c"})")).contains("notes"));
}

TEST(Jsonl, DepthAndLengthOverflowNothing) {
  constexpr int kDeep = 100'000;
  EXPECT_THAT(error(times("[", kDeep)), HasSubstr("expected an object"));
  EXPECT_THAT(error(times("{\"x\":", kDeep)), HasSubstr("not JSON"));
  EXPECT_THAT(answer_json("{\"x\":" + times("[", kDeep) + times("]", kDeep) + ",\"in\":\"1\"}"),
              HasSubstr("\"out\":\"1\""));
  EXPECT_THAT(answer_json("{\"in\":\"" + times("(", kDeep) + "1" + times(")", kDeep) + "\"}"),
              HasSubstr("\"out\":\"1\""));
  EXPECT_THAT(error("{\"in\":\"" + times("(", kDeep) + "\"}"), HasSubstr("in: column 100001"));
  EXPECT_THAT(answer_json(R"({"vars":{"a":[0,9]},"in":")" + times("(", kDeep) + "a" +
                          times("*3+a)%1009", kDeep) + "\"}"),
              HasSubstr("\"out\":"));
  EXPECT_THAT(answer_json(R"({"vars":{"a":[0,9]},"in":"a)" + times(" + a", kDeep) + "\"}"),
              HasSubstr("\"out\":\"a*100001\""));
}

}  // namespace
}  // namespace touchstone::symbolic
