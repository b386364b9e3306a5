#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "../support/sanitized.h"
#include "command.h"
#include "touchstone/base/file.h"
#include "touchstone/ops/kernel_json.h"

// Limits of a whole verb, from reading its input to writing its output.

namespace touchstone {
namespace {

using testing::HasSubstr;
using testing::Not;

class CliLimits : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
  }
  // Provides a pipe with no other readers and writers than the shell, as descriptor 3 of `command`.
  Answer beside_a_pipe(const std::string& command) const {
    ::mkfifo(file("pipe").c_str(), 0600);
    write("script", "exec 3<>" + file("pipe") + "\n" + command + "\n");
    return touchstone_run("--version > /dev/null; sh " + file("script"));
  }
  // A value over a stride-0 view of `n` float32 elements.
  std::string expanded(std::int64_t n, bool summed) const {
    const ShapeTracker all({View::strided({n}, {0}, 0, std::nullopt)});
    LazyOpPtr x = LazyOp::load(1, DType::Float32, all);
    if (summed) x = LazyOp::reduce(Op::ReduceSum, x, {0});
    const Shape shape{summed ? std::int64_t{1} : n};
    return write(fmt::format("{}{}.json", summed ? "sum" : "all", n),
                 to_json(kernel_file(LazyOp::store(ShapeTracker::contiguous(shape), x))));
  }
  // A product of a million copies of itself, repeatedly: longer than any test waits.
  static std::string long_product(int factors) {
    std::string text = "x[262144]";
    for (int i = 1; i < factors; ++i) text += i % 2 == 0 ? "*x" : "/x";
    return text;
  }
  TemporaryDirectory dir_;
};

TEST_F(CliLimits, AnExpandedViewIsRefusedBeforeAnyWork) {
  constexpr std::int64_t kMany = 1'000'000'000'000;
  const auto start = std::chrono::steady_clock::now();
  const Answer sum = touchstone_run("eval " + expanded(kMany * 1000, true));
  EXPECT_EQ(sum.code, 2);
  EXPECT_THAT(sum.text, HasSubstr("values, which take at least "));
  EXPECT_THAT(sum.text, HasSubstr("the limit is 600 s (--timeout, --memory)"));
  for (const char* device : {"CPU", "CLANG"}) {
    const Answer all = touchstone_run(
        fmt::format("eval {} --timeout 0 --device {}", expanded(kMany, false), device));
    EXPECT_EQ(all.code, 2);
    EXPECT_THAT(all.text, HasSubstr("the kernel's buffers take at least 7629395 MiB"));
    EXPECT_THAT(all.text, HasSubstr("the limit is 8192 MiB (--timeout, --memory)"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(touchstone_run("eval " + expanded(1'000'000, true)).code, 0) << "a small output";
}

TEST_F(CliLimits, WorkDoneOnceForManyElementsCountsOnce) {
  for (const char* formula :
       {"softmax(x[1,8192], axis=1)", "softmax(x[64,32000], axis=1)",
        "layer_norm(x[64,2048], w[2048], b[2048])", "attention(q[128,64], k[128,64], v[128,64])"}) {
    const std::string kernel = file("once.json");
    ASSERT_EQ(touchstone_run(fmt::format("kernel '{}' --out {}", formula, kernel)).code, 0);
    const Answer all = touchstone_run("eval " + kernel);
    EXPECT_EQ(all.code, 0) << formula << ": " << all.text;
  }
}

TEST_F(CliLimits, WhatTakesLongerIsInterrupted) {
  const std::string op = "--op '" + long_product(900) + "'";
  std::string sine = "x[1048576]";  // each takes many times the least expected time
  for (int i = 0; i < 80; ++i) sine = "sin(" + sine + ")";
  const std::string sines = "--op '" + sine + "'";
  for (const std::string& verb :
       {"eval " + sines + " --timeout 0.2", "probe " + sines + " --timeout 0.2",
        "emit " + op + " --timeout 0.001 " + file("emitted"),
        std::string("prove --mutants --timeout 0.05"), std::string("kernels --timeout 0.02")}) {
    const Answer run = touchstone_run(verb);
    EXPECT_EQ(run.code, 2) << verb;
    EXPECT_THAT(run.text, HasSubstr("it takes longer than 0.")) << verb;
    EXPECT_THAT(run.text, HasSubstr("set another limit with --timeout, 0 for none")) << verb;
  }
}

TEST_F(CliLimits, AnInputThatDoesNotComeIsNotAwaitedForEver) {
  const auto start = std::chrono::steady_clock::now();
  for (const std::string verb :
       {"simplify --jsonl", "view --jsonl", "verify", "bits", "repl", "kernels --program -"}) {
    const Answer run =
        beside_a_pipe(TOUCHSTONE_COMMAND " " + verb + " --timeout 0.2 <&3; echo code $?");
    EXPECT_THAT(run.text, HasSubstr("it takes longer than 0.2 s")) << verb;
    EXPECT_THAT(run.text, HasSubstr("code 2")) << verb;
  }
  for (const char* const verb : {"simplify --jsonl", "repl"}) {  // an endless line
    const Answer run =
        touchstone_run(std::string(verb) + " --timeout 0.2", "tr '\\0' x < /dev/zero |", "");
    EXPECT_EQ(run.code, 2) << verb;
    EXPECT_THAT(run.text, HasSubstr("it takes longer than 0.2 s")) << verb;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST_F(CliLimits, AReaderThatDoesNotReadIsNotAwaitedForEver) {
  std::string questions;
  for (int i = 0; i < 10'000; ++i) questions += "{\"in\":\"" + std::to_string(i) + "\"}\n";
  const std::string lines = write("questions", questions);
  const Answer run = beside_a_pipe(TOUCHSTONE_COMMAND " simplify --jsonl --timeout 0.5 < " + lines +
                                   " >&3; echo code $?");
  EXPECT_THAT(run.text, HasSubstr("the time limit is over"));
  EXPECT_THAT(run.text, HasSubstr("code 2"));
}

TEST_F(CliLimits, WhatTakesMoreMemoryEnds) {
  if (test::kSanitized) GTEST_SKIP() << "nothing is limited, whose own memory would count";
  const std::string large = write("large", std::string(std::size_t{100} << 20, 'x'));
  for (const std::string& verb :
       {"verify " + large, "explain " + large + " --at 0", "eval " + large,
        "kernel " + large + " --stage c", "kernels --program " + large}) {
    const Answer run = touchstone_run(verb + " --memory 40");
    EXPECT_EQ(run.code, 2) << verb;
    if (run.text.find("bytes") == std::string::npos) {  // refused by its size
      EXPECT_THAT(run.text,
                  HasSubstr("it takes more than 40 MiB of memory; set another limit with --memory"))
          << verb;
    }
  }
}

TEST_F(CliLimits, EveryVerbThatCanTakeLongHasThem) {
  for (const std::string verb :
       {"eval",    "check", "explain",  "kernel", "probe",    "bits",   "emit",  "kernels",
        "rewrite", "steps", "schedule", "export", "simplify", "verify", "prove", "view",
        "serve",   "blame", "judge",    "league", "certify",  "model",  "map"}) {
    const Answer help = touchstone_run(verb + " --help");
    EXPECT_THAT(help.text, HasSubstr("--timeout")) << verb;
    EXPECT_THAT(help.text, HasSubstr("--memory")) << verb;
  }
}

TEST_F(CliLimits, WhereNoFileMayGrowAMessageSaysSo) {
  const auto without_files = [&](const std::string& command) {
    return touchstone_run("--version > /dev/null; ulimit -f 0; { " TOUCHSTONE_COMMAND " " +
                          command + "; }");
  };
  const std::string out = file("y.npy");
  for (const std::string& command :
       {"eval --op 'x[4] + x' --out " + out, "kernel 'x[4]' --out " + file("k.json"),
        "kernel 'x[4]' > " + file("k.json"), "emit --op 'x[4]' " + file("folder"),
        "kernels matmul --html " + file("page.html"), "bits --docs > " + file("page.md"),

        "fuzz --area symbolic --cases 10 --jobs 1 --log " + file("log")}) {
    const Answer run = without_files(command);
    EXPECT_EQ(run.code, 2) << command << run.text;
    EXPECT_THAT(run.text, HasSubstr("File too large")) << command;
    EXPECT_THAT(run.text, Not(HasSubstr("dumped"))) << command;
  }
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_EQ(without_files("eval --op 'x[4] + x'").code, 0);
}

}  // namespace
}  // namespace touchstone
