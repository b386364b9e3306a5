#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include "command.h"
#include "touchstone/base/file.h"

// Kernels and schedules of the models, as the command shows them.

namespace touchstone {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Kernels, AreCountedALineAModel) {
  const Answer fused = touchstone_run("kernels --jsonl matmul softmax");
  EXPECT_EQ(fused.code, 0);
  EXPECT_THAT(fused.text, StartsWith("{\"model\":\"matmul\",\"opt\":2,\"forward\":1,"));
  EXPECT_THAT(fused.text, HasSubstr("\n{\"model\":\"softmax\",\"opt\":2,\"forward\":3,"
                                    "\"forward_backward\":5,\"loads\":13,\"stores\":5,\"flops\":"));
  EXPECT_EQ(touchstone_run("kernels --jsonl matmul softmax").text, fused.text);
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
  EXPECT_THAT(touchstone_run("rewrite").text, HasSubstr("name a model, or a program by --program"));
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
  EXPECT_THAT(eager.text, HasSubstr("nothing is left to schedule; "));
  EXPECT_THAT(
      touchstone_run("kernels --jsonl --opt 2 matmul", "TOUCHSTONE_RECOMPUTE_BEFORE_EXPAND=0").text,
      HasSubstr("\"forward_backward\":5"));
  const Answer bad = touchstone_run("kernels abc", "TOUCHSTONE_LAZY=maybe");
  EXPECT_NE(bad.code, 0);
  EXPECT_THAT(bad.text, HasSubstr("LAZY is 'maybe'; give a number from 0 to 1, or unset it"));
}

TEST(Schedule, IsTextAPictureOrData) {
  const Answer text = touchstone_run("schedule softmax");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.text, HasSubstr("buffer 4 = float32 (64, 64) from 1, 2, 3\n3 steps;"));
  EXPECT_THAT(touchstone_run("schedule softmax --svg -").text, StartsWith("<svg xmlns"));
  EXPECT_THAT(touchstone_run("schedule softmax --backward --dot -").text, StartsWith("digraph"));
  EXPECT_THAT(touchstone_run("schedule softmax --json -").text,
              HasSubstr("\"format\": \"touchstone-schedule 1\""));
  const TemporaryDirectory folder;
  const std::string file = folder.path() / "schedule.svg";
  const Answer written = touchstone_run("schedule abc --svg " + file);
  EXPECT_EQ(written.code, 0);
  EXPECT_EQ(written.text, "");
  EXPECT_TRUE(std::filesystem::remove(file));
  EXPECT_NE(touchstone_run("schedule abc --svg /nowhere/x.svg").code, 0);
  EXPECT_THAT(touchstone_run("schedule vgg").text, HasSubstr("there is no model 'vgg'"));
}

}  // namespace
}  // namespace touchstone
