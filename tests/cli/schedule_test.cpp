#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include "command.h"
#include "touchstone/base/file.h"

// Kernels and schedules of the models, as printed by the command.

namespace touchstone {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Kernels, AreCountedALineAModel) {
  const Answer fused = touchstone_run("kernels --jsonl matmul softmax --scheduler lazy");
  EXPECT_EQ(fused.code, 0);
  EXPECT_THAT(fused.text, StartsWith("{\"model\":\"matmul\",\"opt\":2,\"forward\":1,"));
  EXPECT_THAT(fused.text, HasSubstr("\n{\"model\":\"softmax\",\"opt\":2,\"forward\":3,"
                                    "\"forward_backward\":5,\"loads\":13,\"stores\":5,\"flops\":"));
  EXPECT_EQ(touchstone_run("kernels --jsonl matmul softmax --opt 2").text, fused.text);
  EXPECT_THAT(touchstone_run("kernels --jsonl matmul softmax").text,
              HasSubstr("\n{\"model\":\"softmax\",\"opt\":2,\"forward\":1,"
                        "\"forward_backward\":4,\"loads\":9,\"stores\":4,\"flops\":"));
  EXPECT_THAT(touchstone_run("kernels --jsonl matmul --opt 0").text,
              HasSubstr("\"opt\":0,\"forward\":2,"));
  EXPECT_THAT(touchstone_run("kernels --jsonl matmul", "TOUCHSTONE_OPT=0").text,
              HasSubstr("\"opt\":0,\"forward\":2,"));
  EXPECT_THAT(
      touchstone_run("kernels --jsonl matmul", "TOUCHSTONE_MERGE_ELEMENTWISE_INTO_REDUCE=0").text,
      HasSubstr("\"forward\":2,"));
}

TEST(Rewrite, PrintsALineAMatchByPass) {
  const Answer run = touchstone_run(
      "rewrite --program 'float32 2,3: 1; exp2 %0; permute %1 1,0; reduce_sum %2 1'");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.text, StartsWith("float32 2,3: 1; exp2 %0;"));
  EXPECT_THAT(run.text, HasSubstr("\nsimplify: "));
  EXPECT_THAT(run.text, HasSubstr("  PERMUTE f32 (1, 0) -> VIEW f32 "));
  EXPECT_THAT(run.text, HasSubstr("  of permute %2\n"));
  EXPECT_THAT(run.text, HasSubstr("\nbarriers: 1 match, "));
  EXPECT_THAT(run.text, HasSubstr("      1 a kernel behind a barrier\n"));
  EXPECT_THAT(run.text, HasSubstr("\n5 passes, "));
  EXPECT_THAT(run.text, testing::EndsWith(" matches, 1 kernel\n"));
  const Answer model = touchstone_run("rewrite softmax");
  EXPECT_THAT(model.text, StartsWith("softmax: 64 x 64, over rows\n"));
  EXPECT_THAT(model.text, HasSubstr("  of softmax REDUCE_SUM #"));
  EXPECT_THAT(touchstone_run("rewrite softmax --backward").text,
              HasSubstr("  of gradient of softmax MUL #"));
  EXPECT_THAT(model.text, testing::EndsWith(", 3 kernels\n"));
}

TEST(Rewrite, BadQuestionsAreNamed) {
  EXPECT_THAT(touchstone_run("rewrite").text,
              HasSubstr("give a model, or a program with --program"));
  EXPECT_EQ(touchstone_run("rewrite").code, 2);
  EXPECT_EQ(touchstone_run("rewrite softmaxx").code, 2);
  EXPECT_EQ(touchstone_run("rewrite --program 'float32 2: 1; exp3 %0'").code, 2);
  EXPECT_NE(touchstone_run("rewrite softmax --scheduler lazy").code, 0);
  EXPECT_EQ(touchstone_run("rewrite softmax --html /dev/full/page.html").code, 2);
}

TEST(Kernels, BadOptionsAreNamed) {
  EXPECT_NE(touchstone_run("kernels --jsonl --opt 5").code, 0);
  const Answer eager = touchstone_run("kernels --jsonl abc", "TOUCHSTONE_LAZY=0");
  EXPECT_EQ(eager.code, 2);
  EXPECT_THAT(eager.text, HasSubstr("there is nothing to schedule; "));
  EXPECT_THAT(
      touchstone_run("kernels --jsonl --opt 2 matmul", "TOUCHSTONE_RECOMPUTE_BEFORE_EXPAND=0").text,
      HasSubstr("\"forward_backward\":5"));
  const Answer bad = touchstone_run("kernels abc", "TOUCHSTONE_LAZY=maybe");
  EXPECT_NE(bad.code, 0);
  EXPECT_THAT(bad.text, HasSubstr("LAZY is 'maybe'; give a number from 0 to 1, or unset it"));
}

bool has_graphviz() { return std::system("dot -V > /dev/null 2>&1") == 0; }

TEST(Schedule, IsTextAPictureOrData) {
  const Answer text = touchstone_run("schedule softmax --scheduler lazy");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(touchstone_run("schedule softmax").text,
              HasSubstr("buffer 2 = float32 (64, 64) from 1\n1 step;"));
  EXPECT_THAT(text.text, HasSubstr("buffer 4 = float32 (64, 64) from 1, 2, 3\n3 steps;"));
  EXPECT_THAT(touchstone_run("schedule softmax --backward --dot -").text, StartsWith("digraph"));
  EXPECT_THAT(touchstone_run("schedule softmax --json -").text,
              HasSubstr("\"format\": \"touchstone-schedule 1\""));
  const TemporaryDirectory folder;
  const std::string file = folder.path() / "schedule.dot";
  const Answer written = touchstone_run("schedule abc --dot " + file);
  EXPECT_EQ(written.code, 0);
  EXPECT_EQ(written.text, "");
  EXPECT_TRUE(std::filesystem::remove(file));
  EXPECT_NE(touchstone_run("schedule abc --dot /nowhere/x.dot").code, 0);
  EXPECT_THAT(touchstone_run("schedule vgg").text, HasSubstr("there is no model 'vgg'"));
}

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++n;
  return n;
}

TEST(Schedule, PicturesComeFromGraphvizForLightAndDark) {
  if (!has_graphviz()) GTEST_SKIP() << "no Graphviz; install graphviz";
  const Answer svg = touchstone_run("schedule softmax --scheduler lazy --svg -");
  EXPECT_EQ(svg.code, 0) << svg.text;
  EXPECT_THAT(svg.text, StartsWith("<svg "));
  EXPECT_THAT(svg.text, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_EQ(occurrences(svg.text, "class=\"node "), 3U);
  EXPECT_EQ(occurrences(svg.text, "class=\"node reduce\""), 2U);
  EXPECT_EQ(occurrences(svg.text, "class=\"edge\""), 3U);
  const Answer page = touchstone_run("schedule softmax --scheduler lazy --html -");
  EXPECT_THAT(page.text, StartsWith("<!doctype html>"));
  EXPECT_EQ(occurrences(page.text, "\"c\":[\"void "), 3U);
  EXPECT_EQ(occurrences(page.text, "/*REPORT*/"), 0U);
  // Hundreds of kernels are laid out in seconds.
  EXPECT_EQ(touchstone_run("schedule resnet18 --backward --svg /dev/null").code, 0);
}

TEST(Schedule, AMissingGraphvizIsNamed) {
  const Answer none = touchstone_run("schedule softmax --svg -", "PATH=/nowhere");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.text, HasSubstr("install graphviz"));
}

}  // namespace
}  // namespace touchstone
