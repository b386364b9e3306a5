#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include <gmock/gmock.h>

#include "command.h"
#include "touchstone/base/file.h"
#include "touchstone/files/npy.h"
#include "touchstone/ops/kernel_json.h"

// One verdict per line.

namespace touchstone {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CliServe : public testing::Test {
 protected:
  // y = x + x over two uint8 elements.
  static std::string kernel() {
    const ShapeTracker st = ShapeTracker::contiguous({2});
    const LazyOpPtr x = LazyOp::load(1, DType::UInt8, st);
    std::string text = to_json(kernel_file(LazyOp::store(st, LazyOp::binary(Op::Add, x, x))));
    std::erase(text, '\n');
    return text;
  }
  static std::string question(const std::string& inputs, const std::string& output,
                              const std::string& more = "") {
    return R"({"id":"q","kernel":)" + kernel() + ",\"inputs\":" + inputs + ",\"output\":" + output +
           more + "}";
  }
  Answer asked(const std::string& lines) const {
    std::ofstream(dir_.path() / "questions") << lines;
    return touchstone_run("serve", "", "< " + (dir_.path() / "questions").string());
  }
  TemporaryDirectory dir_;
};

constexpr char kIn[] = R"([{"dtype":"uint8","base64":"AQI="}])";  // 1, 2
constexpr char kOut[] = R"({"dtype":"u8","base64":"AgQ="})";      // 2, 4
constexpr char kWrong[] = R"({"dtype":"u8","shape":[2],"base64":"AgU="})";

TEST_F(CliServe, AnswersEachLineInOrder) {
  const Answer run = asked(question(kIn, kOut) + "\n\n" + question(kIn, kWrong) + "\n" +
                           question(kIn, kOut, R"(,"profile":"cuda")"));
  EXPECT_EQ(run.code, 0) << run.text;
  std::istringstream lines(run.text);
  std::string line;
  std::getline(lines, line);
  EXPECT_THAT(line, HasSubstr(R"({"id":"q","verdict":"PASS","kernel":)"));
  std::getline(lines, line);
  EXPECT_THAT(line, HasSubstr(R"("verdict":"FAIL")"));
  EXPECT_THAT(line, HasSubstr(R"("at":[1],"candidate":"05","legal":["04","04"])"));
  std::getline(lines, line);
  EXPECT_THAT(line, HasSubstr(R"("profile":"cuda")"));
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(CliServe, TakesFilesToo) {
  const std::string path = (dir_.path() / "y.npy").string();
  write_npy(path, {DType::UInt8, {2}, "\2\4"});
  EXPECT_THAT(asked(question(kIn, "\"" + path + "\"")).text, HasSubstr("PASS"));
}

TEST_F(CliServe, AFormulaIsAKernel) {
  const auto ask = [&](const char* output) {
    return asked(R"({"op":"x[2]:u8 + x","inputs":)" + std::string(kIn) + R"(,"output":)" + output +
                 "}")
        .text;
  };
  EXPECT_THAT(ask(kOut), HasSubstr(R"("verdict":"PASS")"));
  EXPECT_THAT(ask(kWrong), AllOf(HasSubstr(R"("verdict":"FAIL")"), HasSubstr("x = 2")));
}

TEST_F(CliServe, WhatIsNoQuestionGetsAnError) {
  const std::pair<std::string, const char*> cases[] = {
      {"garbage", "not a JSON object"},
      {"[]", "not a JSON object"},
      {std::string(100, '['), "deep"},
      {"{}", R"(give \"kernel\", or a formula as \"op\")"},
      {R"({"kernel":{},"op":"x[2]"})", R"(give \"kernel\", or a formula as \"op\")"},
      {R"({"op":7})", R"(\"op\" must be a string)"},
      {R"({"op":"softmin(x"})", "softmin(x"},
      {R"({"kernel":{}})", "touchstone_kernel"},
      {R"({"kernel":"/no/such.json"})", "/no/such.json"},
      {question("7", kOut), R"(\"inputs\" must be a list)"},
      {question("[7]", kOut), "input 1 must be a file name"},
      {question(kIn, R"({"dtype":"u8"})"), R"(\"base64\" is missing)"},
      {question(kIn, R"({"dtype":"u9","base64":""})"), "u9"},
      {question(kIn, R"({"dtype":"u8","base64":"?"})"), "the output is not valid base64"},
      {question(kIn, R"({"dtype":"u16","base64":"AQ=="})"), "has 1 bytes"},
      {question(kIn, R"({"dtype":"u8","shape":[3],"base64":"AQ=="})"), "its shape 3"},
      {question(kIn, R"({"dtype":"u8","shape":[-3],"base64":"AQ=="})"), "an invalid size"},
      {question(kIn, R"({"dtype":"u8","shape":[18446744073709551615,18446744073709551615],)"
                     R"("base64":"AQ=="})"),
       "an invalid size"},
      {question(kIn, "\"/no/such.npy\""), "/no/such.npy"},
      {question(kIn, kOut, R"(,"profile":"exact")"), "exact"},
      {question(kIn, kOut, R"(,"profile":7)"), "error"},
      {question(kIn, kOut, R"(,"variables":{"n":3})"), "no variables"}};
  std::string all;
  for (const auto& [line, why] : cases) all += line + "\n";
  const Answer run = asked(all + question(kIn, kOut));
  EXPECT_EQ(run.code, 2);
  std::istringstream lines(run.text);
  std::string line;
  for (const auto& [asked, why] : cases) {
    std::getline(lines, line);
    EXPECT_THAT(line, HasSubstr("\"error\":")) << asked;
    EXPECT_THAT(line, HasSubstr(why)) << asked;
  }
  std::getline(lines, line);
  EXPECT_THAT(line, HasSubstr("PASS"));
}

TEST_F(CliServe, ArraysThatDoNotFitAreUnusable) {
  const Answer run =
      asked(question("[]", kOut) + "\n" + question(R"([{"dtype":"i8","base64":"AQI="}])", kOut) +
            "\n" + question(R"([{"dtype":"u8","base64":"AQ=="}])", kOut) + "\n" +
            question(kIn, R"({"dtype":"u8","base64":"AQIDBAUGBwg="})") + "\n");
  EXPECT_THAT(run.text, HasSubstr("the output has 8 elements, the kernel's has"));
  EXPECT_THAT(run.text, HasSubstr("input buffer 1 was not given"));
  EXPECT_THAT(run.text, HasSubstr("has type int8"));
  EXPECT_THAT(run.text, HasSubstr("has 1 elements"));
  EXPECT_THAT(run.text, Not(HasSubstr("PASS")));
}

}  // namespace
}  // namespace touchstone
