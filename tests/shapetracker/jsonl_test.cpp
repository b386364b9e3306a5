#include "touchstone/shapetracker/ask/jsonl.h"

#include <gtest/gtest.h>

#include <string>

// The machine interface line by line: questions and answers.

namespace touchstone::shapetracker {
namespace {

/// The answer without its time, which must be present.
std::string asked(const std::string& question) {
  const std::string answer = answer_json(question);
  const std::size_t ns = answer.find(",\"ns\":");
  if (answer.starts_with("{\"error\":\"")) return answer;
  EXPECT_NE(ns, std::string::npos) << answer;
  EXPECT_EQ(answer.find_first_not_of("0123456789", ns + 6), answer.size() - 1) << answer;
  EXPECT_EQ(answer.back(), '}');
  return answer.substr(0, ns);
}

/// The reduced stack and the single view: the answer before "why".
std::string reduced(const std::string& question) {
  const std::string answer = asked(question);
  return answer.substr(0, answer.find(",\"why\""));
}

std::string one(const std::string& view) { return "{\"views\":[" + view + "],\"single\":" + view; }

TEST(Jsonl, AStackThatIsOneViewGivesIt) {
  EXPECT_EQ(reduced(R"({"views":[[[4],[1],0,null],[[2,2],[2,1],0,null]]})"),
            one("[[2,2],[2,1],0,null]"));
  EXPECT_EQ(reduced(R"({"views":[[[2,3],[1,2],0,null],[[6],[1],0,null],[[3,2],[1,3],0,null]]})"),
            one("[[3,2],[2,1],0,null]"));
}

TEST(Jsonl, AStackThatIsNoSingleViewSaysSo) {
  EXPECT_EQ(reduced(R"({"views":[[[2,2],[1,2],0,null],[[4],[1],0,null]]})"),
            R"({"views":[[[2,2],[1,2],0,null],[[4],[1],0,null]],"single":null)");
}

TEST(Jsonl, WhyGivesTheWitnessOfARefusal) {
  EXPECT_EQ(asked(R"({"views":[[[2,2],[1,2],0,null],[[4],[1],0,null]]})"),
            R"({"views":[[[2,2],[1,2],0,null],[[4],[1],0,null]],"single":null,)"
            R"("why":"no single view: (0) reads 0, (1) reads 2, (1) reads 2, (2) reads 1: )"
            R"(one index step moves the address by 2 here and by -1 there",)"
            R"("witness":{"kind":"bend","points":[[0],[1],[1],[2]],"reads":[0,2,2,1],)"
            R"("needs":[{"from":[0],"to":[1],"step":2},{"from":[1],"to":[2],"step":-1}]})");
  EXPECT_EQ(
      asked(R"({"base":[3,4],"ops":[["pad",[[1,1],[0,2]]],["reshape",[30]]]})"),
      R"({"views":[[[5,6],[4,1],-4,[[1,4],[0,4]]],[[30],[1],0,null]],"single":null,)"
      R"("why":"no single view: (6) reads 0, (21) reads 11, (10) is padding: )"
      R"(the last lies in the bounding box of the others, so the valid indices are not a box",)"
      R"("witness":{"kind":"hole","points":[[6],[21],[10]],"reads":[0,11,null],)"
      R"("needs":[{"at":[10],"valid":true}]})");
}

TEST(Jsonl, EntriesMayHaveVariables) {
  EXPECT_EQ(asked(R"({"vars":{"n":[2,9]},"base":["n",4],)"
                  R"("ops":[["permute",[1,0]],["reshape",["4*n"]],["reshape",[2,2,"n"]]]})"),
            one(R"([[2,2,"n"],[2,1,4],0,null])") + R"(,"why":"one view")");
  EXPECT_EQ(reduced(R"({"vars":{"n":[2,9]},"base":["n"],"ops":[["pad",[[1,"n"]]]]})"),
            one(R"([["n*2 + 1"],[1],-1,[[1,"n + 1"]]])"));
  EXPECT_EQ(asked(R"({"vars":{"n":[2,9]},"views":[[[4,"n"],[1,4],0,null],[["n*4"],[1],0,null]]})"),
            R"({"views":[[[4,"n"],[1,4],0,null],[["n*4"],[1],0,null]],"single":null,)"
            R"("why":"no single view: with n = 2, (0) reads 0, (1) reads 4, (1) reads 4, )"
            R"((2) reads 1: one index step moves the address by 4 here and by -3 there",)"
            R"("witness":{"kind":"bend","values":{"n":2},"points":[[0],[1],[1],[2]],)"
            R"("reads":[0,4,4,1],)"
            R"("needs":[{"from":[0],"to":[1],"step":4},{"from":[1],"to":[2],"step":-3}]})");
  EXPECT_EQ(
      asked(R"({"vars":{"n":[2,9]},"views":[[["n",3],[3,1],0,null],[[3,"n"],[1,3],0,null]]})"),
      one(R"([[3,"n"],[1,3],0,null])") +
          R"(,"why":"2 views are one: for all values the valid indices are a box and the )"
          R"(address is affine on it")");
  const auto error = [](const std::string& question, const std::string& text) {
    const std::string answer = answer_json(question);
    EXPECT_TRUE(answer.starts_with("{\"error\":") && answer.find(text) != std::string::npos)
        << answer;
  };
  error(R"({"base":["n"],"ops":[]})", "base: expected a 64-bit integer");
  error(R"({"vars":{"n":[2,9]},"base":["k"],"ops":[]})", "unknown name");
  error(R"({"vars":{"n":[9,2]},"base":["n"],"ops":[]})", "the range is empty: 9 is greater than 2");
  error(R"({"vars":{"n":[2]},"base":["n"],"ops":[]})", "the lower and the upper bound");
  error(R"({"vars":{"n":2},"base":["n"],"ops":[]})", "the lower and the upper bound");
  error(R"({"vars":[],"base":[2],"ops":[]})", "vars: expected an object");
  error(R"({"vars":{"2":[2,9]},"base":[2],"ops":[]})", "is not a name");
  error(R"({"vars":{"n":[-2,9]},"base":["n"],"ops":[]})", "depends on the variables");
  error(R"({"vars":{"n":[-9,-2]},"base":["n"],"ops":[]})", "a size is negative");
  error(R"({"vars":{"n":[2,9]},"base":["n//0"],"ops":[]})", "zero");
  error(R"({"vars":{"n":[2,9]},"base":["n*4611686018427387904"],"ops":[]})", "64 bits");
  error(R"({"vars":{"n":[2,9]},"base":["n"],"ops":[],"invert":true})", "bind");
  error(R"({"vars":{"n":[2,9]},"views":[[["n"],[1],0,null],[[3],[1],0,null]]})",
        "depends on the variables");
  error(R"({"vars":{"n":[2,9]},"base":[")" + std::string(300, '(') + R"("],"ops":[]})",
        "at most 200 characters");
}

TEST(Jsonl, InvertAddsTheInverseWhereThereIsOne) {
  const auto inverse = [](const std::string& question) {
    const std::string answer = answer_json(question);
    return answer.substr(std::min(answer.size(), answer.find(",\"inverse\"")));
  };
  EXPECT_EQ(inverse(R"({"views":[[[2,3],[1,2],0,null]],"invert":true})"),
            R"(,"inverse":[[[3,2],[1,3],0,null]],"bijection":true})");
  EXPECT_EQ(inverse(R"({"base":[6],"ops":[["stride",[-1]]],"invert":true})"),
            R"(,"inverse":[[[6],[-1],5,null]],"bijection":true})");
  EXPECT_EQ(inverse(R"({"views":[[[3,2],[2,0],0,null]],"invert":true})"),
            R"(,"inverse":null,"bijection":false})");
  EXPECT_EQ(inverse(R"({"views":[[[3,2],[1,0],0,null]],"invert":true})"),
            R"(,"inverse":[[[3],[2],0,null]],"bijection":false})");
  EXPECT_EQ(inverse(R"({"views":[[[3],[1],-2,null]],"invert":true})"),
            R"(,"inverse":null,"bijection":false})");
  EXPECT_EQ(inverse(R"({"views":[[[3],[1],0,null]],"invert":false})"), "");
}

// The answer after its time.
std::string added(const std::string& question) {
  const std::string answer = answer_json(question);
  return answer.substr(answer.find(',', answer.find(",\"ns\":") + 1));
}

TEST(Jsonl, ExprAddsAddressAndConditionAndWhatTheyCost) {
  EXPECT_EQ(added(R"({"base":[2,3],"ops":[["permute",[1,0]],["reshape",[6]]],"expr":true})"),
            R"(,"expr":{"indices":["idx0"],"index":"idx0*3 - idx0//2*5","valid":"1",)"
            R"("divisions":1,"modulos":0,"parts":9}})");
  EXPECT_EQ(added(R"({"vars":{"idx0":[1,4]},"base":["idx0"],"ops":[["pad",[[1,0]]]],"expr":true})"),
            R"(,"expr":{"indices":["idx_0"],"index":"idx_0 - 1","valid":"0 < idx_0",)"
            R"("divisions":0,"modulos":0,"parts":6}})");
}

TEST(Jsonl, RealStridesAddsThemWithTheOffset) {
  EXPECT_EQ(added(R"({"base":[2,3],"ops":[["flip",[1]]],"real_strides":true})"),
            R"(,"real_strides":[3,-1],"real_offset":2})");
  EXPECT_EQ(
      added(R"({"base":[2,3],"ops":[["permute",[1,0]],["reshape",[6]]],"real_strides":true})"),
      R"(,"real_strides":[null],"real_offset":0})");
  EXPECT_EQ(added(R"({"base":[3],"ops":[["pad",[[1,0]]]],"real_strides":true})"),
            R"(,"real_strides":[null],"real_offset":-1})");
}

TEST(Jsonl, FlipAndAsStridedAreOperations) {
  EXPECT_EQ(reduced(R"({"base":[2,3],"ops":[["flip",[0,1]]]})"), one("[[2,3],[-3,-1],5,null]"));
  EXPECT_EQ(reduced(R"({"base":[6],"ops":[["as_strided",[[2,2],[3,-1],1]]]})"),
            one("[[2,2],[3,-1],1,null]"));
  EXPECT_EQ(reduced(R"({"vars":{"n":[2,3]},"base":[12],"ops":[["as_strided",[["n"],["n"],1]]]})"),
            one(R"([["n"],["n"],1,null])"));
}

TEST(Jsonl, SaysWhereASearchEndedByALimit) {
  const std::string answer =
      answer_json(R"({"base":[101,103,107],"ops":[["permute",[2,1,0]],["reshape",[103,107,101]],)"
                  R"(["permute",[2,1,0]],["reshape",[1113121]]]})");
  EXPECT_NE(answer.find(",\"limited\":true,"), std::string::npos) << answer;
  EXPECT_EQ(answer_json(R"({"base":[2],"ops":[]})").find("limited"), std::string::npos);
}

TEST(Jsonl, NeighboursMayMergeInALongerStack) {
  EXPECT_EQ(
      reduced(
          R"({"views":[[[2,2],[1,2],0,null],[[4],[1],0,null],[[2,2],[2,1],0,null],[[4],[1],0,null]]})"),
      R"({"views":[[[2,2],[1,2],0,null],[[4],[1],0,null]],"single":null)");
}

TEST(Jsonl, OperationsAreAppliedOneByOne) {
  EXPECT_EQ(reduced(R"({"base":[3,2],"ops":[["permute",[1,0]],["reshape",[6]]]})"),
            R"({"views":[[[2,3],[1,2],0,null],[[6],[1],0,null]],"single":null)");
  EXPECT_EQ(reduced(R"({"base":[2],"ops":[["pad",[[1,2]]],["shrink",[[0,4]]]]})"),
            one("[[4],[1],-1,[[1,3]]]"));
  EXPECT_EQ(reduced(R"({"base":[2,1],"ops":[["expand",[2,3]]]})"), one("[[2,3],[1,0],0,null]"));
  EXPECT_EQ(reduced(R"({"base":[],"ops":[]})"), one("[[],[],0,null]"));
}

TEST(Jsonl, ANegativeStrideFlipsFirstThenTakesEveryNth) {
  EXPECT_EQ(reduced(R"({"base":[5,4],"ops":[["stride",[-2,3]]]})"), one("[[3,2],[-8,3],16,null]"));
  EXPECT_EQ(reduced(R"({"base":[4],"ops":[["stride",[-3]]]})"), one("[[2],[-3],3,null]"));
}

TEST(Jsonl, AChainOfThreeThatIsOneThoughNoNeighboursAre) {
  const std::string single = one("[[4,2,3],[0,1,2],0,null]");
  EXPECT_EQ(reduced(R"({"base":[3,2],"ops":[["permute",[1,0]],["reshape",[1,2,3]],)"
                    R"(["expand",[4,2,3]],["reshape",[2,2,6]],["permute",[1,0,2]],)"
                    R"(["reshape",[4,2,3]]]})"),
            single);
  EXPECT_EQ(reduced(R"({"views":[[[4,2,3],[0,1,2],0,null],[[2,2,6],[6,12,1],0,null],)"
                    R"([[4,2,3],[6,3,1],0,null]]})"),
            single);
}

TEST(Jsonl, AnswersAreCanonical) {
  EXPECT_EQ(reduced(R"({"views":[[[1,3],[9,1],4,[[0,1],[0,3]]]]})"), one("[[1,3],[0,1],4,null]"));
  EXPECT_EQ(reduced(R"({"views":[[[3,4],[5,1],7,[[2,3],[0,4]]]]})"),
            one("[[3,4],[0,1],17,[[2,3],[0,4]]]"));
  EXPECT_EQ(reduced(R"({"views":[[[2,3],[5,1],7,[[1,1],[0,3]]]]})"),
            one("[[2,3],[0,0],0,[[0,0],[0,0]]]"));
  EXPECT_EQ(reduced(R"({"views":[[[0,3],[5,1],7,null]]})"), one("[[0,3],[0,0],0,[[0,0],[0,0]]]"));
  EXPECT_EQ(reduced(R"({"views":[[[],[],7,[]]]})"), one("[[],[],7,null]"));
}

TEST(Jsonl, AddressesOfTheInnermostViewMayBeNegative) {
  EXPECT_EQ(reduced(R"({"views":[[[2,3],[-3,-1],0,null],[[6],[1],0,null]]})"),
            one("[[6],[-1],0,null]"));
  EXPECT_EQ(reduced(R"({"views":[[[4],[-1],-9,null],[[2,2],[2,1],0,null]]})"),
            one("[[2,2],[-2,-1],-9,null]"));
}

TEST(Jsonl, NumbersUpTo63BitsAndSixteenAxes) {
  EXPECT_EQ(reduced(R"({"views":[[[4611686018427387904],[2],0,null],[[2],[1],0,null]]})"),
            one("[[2],[2],0,null]"));
  std::string twos, weights, back;
  for (int axis = 0; axis < 16; ++axis) {
    twos += axis == 0 ? "2" : ",2";
    weights += (axis == 0 ? "" : ",") + std::to_string(1 << (15 - axis));
    back += (axis == 0 ? "" : ",") + std::to_string(-(1 << (15 - axis)));
  }
  EXPECT_EQ(
      reduced("{\"views\":[[[65536],[-1],65535,null],[[" + twos + "],[" + weights + "],0,null]]}"),
      one("[[" + twos + "],[" + back + "],65535,null]"));
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (; times > 0; --times) all += text;
  return all;
}

struct Refusal {
  std::string question, says;
};

const Refusal kRefusals[] = {
    {"hello", "not JSON"},
    {R"({"views":[[[2],[1],0,null])", "not JSON: invalid or missing at byte"},
    {"[1,2]", "question: expected an object"},
    {"{}", "either"},
    {R"({"views":[[[2],[1],0,null]],"base":[2],"ops":[]})", "either"},
    {R"({"views":[[[2],[1],0,null]],"ops":[]})", "ops: needs"},
    {R"({"views":[],"views":[]})", "is given twice"},
    {R"({"vars":{"n":[0,1],"n":[2,3]},"base":["n"],"ops":[]})", "is given twice"},
    {R"({"base":[99999999999999999999],"ops":x})", "invalid or missing at byte 38"},
    {"{\"base\":[" + std::string(400, '9') + "],\"ops\":[]}", "64-bit integer, found 9999"},
    {std::string(100000, '['), "nested more than"},
    {R"({"x":)" + std::string(100000, '[') + std::string(100000, ']') + "}", "nested more than"},
    {"{\"views\":[" + repeated("[[2],[1],0,null],", 256) + "[[2],[1],0,null]]}",
     "views: expected at most 256, found 257"},
    {R"({"views":7})", "views: expected a list of views, found 7"},
    {R"({"views":[]})", "at least one view"},
    {R"({"views":[7]})", "views[0]: expected a view"},
    {R"({"views":[[[2],[1],0]]})", "found 3 entries"},
    {R"({"views":[[2,[1],0,null]]})", "views[0]: shape: expected a list of integers, found 2"},
    {R"({"views":[[["2"],[1],0,null]]})", "views[0]: shape: expected a 64-bit integer"},
    {R"({"views":[[[2.5],[1],0,null]]})", "views[0]: shape: expected a 64-bit integer"},
    {R"({"views":[[[2],[true],0,null]]})", "views[0]: strides: expected a 64-bit integer"},
    {R"({"views":[[[2],[1],null,null]]})", "views[0]: offset: expected a 64-bit integer"},
    {R"({"views":[[[2],[1],0,0]]})", "views[0]: mask: expected a list of pairs"},
    {R"({"views":[[[2],[1],0,[0,2]]]})", "views[0]: mask: expected a pair"},
    {R"({"views":[[[2],[1],0,[[0,3]]]]})", "views[0]: mask (0, 3) of axis 0"},
    {R"({"views":[[[2],[1],0,[[2,1]]]]})", "views[0]: mask (2, 1) of axis 0"},
    {R"({"views":[[[2],[1],0,[[-1,1]]]]})", "views[0]: mask (-1, 1) of axis 0"},
    {R"({"views":[[[2,2],[1],0,null]]})", "views[0]: view of shape (2, 2): 1 strides"},
    {R"({"views":[[[2],[1],0,[]]]})", "0 mask ranges"},
    {R"({"views":[[[-2],[1],0,null]]})", "a size is negative"},
    {"", "the line is blank"},
    {" \t", "the line is blank"},
    {R"({"views":[[[9223372036854775808],[1],0,null]]})",
     "views[0]: shape: expected a 64-bit integer, found 9223372036854775808"},
    {R"({"views":[[[99999999999999999999999],[1],0,null]]})",
     "expected a 64-bit integer, found 99999999999999999999999"},
    {R"({"views":[[[1],[1],-9223372036854775809,null]]})", "found -9223372036854775809"},
    {R"({"vars":{"n":[1,99999999999999999999]},"base":["n"],"ops":[]})",
     "found 99999999999999999999"},
    {R"({"vars":{"n":[1,2]},"base":[99999999999999999999],"ops":[]})",
     "base: expected a 64-bit integer, found 99999999999999999999"},
    {R"({"base":[2],"ops":[["permute",[99999999999999999999]]]})", "found 99999999999999999999"},
    {R"({"base":[2],"ops":[["flip",[1]]]})", "ops[0]: flip: "},
    {R"({"base":[2],"ops":[["as_strided",[[3],[1]]]]})", "expected [shape, strides, offset]"},
    {R"({"base":[2],"ops":[["as_strided",[[3],[1],0]]]})", "ops[0]: as_strided: "},
    {R"({"base":[2],"ops":[],"expr":1})", "expr: expected true or false, found 1"},
    {R"({"base":[2],"ops":[],"real_strides":"x"})", "real_strides: expected true or false"},
    {R"({"views":[[[1e999],[1],0,null]]})", "exceeds the range of a float"},
    {R"({"views":[[[4611686018427387904,2],[2,1],0,null]]})", "more elements than 64 bits"},
    {R"({"views":[[[4611686018427387904],[3],0,null]]})", "does not fit in 64 bits"},
    {R"({"views":[[[2],[1],-9223372036854775808,null]]})", "does not fit in 64 bits"},
    {R"({"views":[[[4],[1],0,null],[[5],[1],0,null]]})",
     "views[1]: reads elements 0 to 4 of views[0], which has 4"},
    {R"({"views":[[[4],[1],0,null],[[2],[1],-1,null]]})", "views[1]: reads elements -1 to 0"},
    {R"({"views":[[[0],[1],0,null],[[1],[1],0,null]]})", "which has 0"},
    {R"({"views":[[[2],[1],0,null]],"invert":1})", "invert: expected true or false, found 1"},
    {R"({"base":[2]})", "ops: missing"},
    {R"({"base":2,"ops":[]})", "base: expected a list of integers"},
    {R"({"base":[-1],"ops":[]})", "base: view of shape"},
    {R"({"base":[2],"ops":{}})", "ops: expected a list of operations"},
    {R"({"base":[2],"ops":["permute"]})", "ops[0]: expected an operation"},
    {R"({"base":[2],"ops":[[1,[0]]]})", "ops[0]: expected an operation"},
    {R"({"base":[2],"ops":[["permute",[0]],["reshap",[2]]]})",
     "ops[1]: there is no operation 'reshap'; did you mean 'reshape'?"},
    {R"({"base":[2],"ops":[["permute",[4294967296]]]})", "ops[0]: permute: expected an axis"},
    {R"({"base":[2],"ops":[["permute",[1]]]})", "ops[0]: permute: "},
    {R"({"base":[2],"ops":[["reshape",[3]]]})", "ops[0]: reshape: "},
    {R"({"base":[2],"ops":[["expand",[3]]]})", "ops[0]: expand: "},
    {R"({"base":[2],"ops":[["pad",[[-1,0]]]]})", "ops[0]: pad: "},
    {R"({"base":[2],"ops":[["pad",[1,0]]]})", "ops[0]: pad: expected a pair"},
    {R"({"base":[2],"ops":[["pad",[[9223372036854775807,0]]]]})", "does not fit in 64 bits"},
    {R"({"base":[2],"ops":[["shrink",[[0,3]]]]})", "ops[0]: shrink: "},
    {R"({"base":[2],"ops":[["stride",[0]]]})", "ops[0]: stride: "},
    {R"({"base":[2],"ops":[["stride",[-9223372036854775808]]]})", "ops[0]: stride: "},
};

TEST(Jsonl, RefusesWithAnErrorThatNamesThePlace) {
  for (const auto& [question, says] : kRefusals) {
    const std::string answer = answer_json(question);
    const std::string shown = question.substr(0, 80) + " gives " + answer;
    EXPECT_TRUE(answer.starts_with("{\"error\":\"") && answer.ends_with("\"}")) << shown;
    EXPECT_NE(answer.find(says), std::string::npos) << shown;
  }
}

}  // namespace
}  // namespace touchstone::shapetracker
