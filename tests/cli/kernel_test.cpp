#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include <gmock/gmock.h>

#include "command.h"
#include "touchstone/base/file.h"
#include "touchstone/files/npy.h"

// Kernels as text on the command line.

namespace touchstone {
namespace {

using testing::HasSubstr;
using testing::Not;

class CliKernel : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }
  void write(const std::string& name, const std::vector<std::int64_t>& shape,
             const std::vector<float>& values) const {
    write_npy(dir_.path() / name,
              {DType::Float32,
               shape,
               {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}});
  }
  TemporaryDirectory dir_;
};

// exp is judged by its value under every profile, nodes that approximate it by theirs.
TEST_F(CliKernel, WhatFunctionsComputeAsTheyLikeIsJudgedAsOfALibrary) {
  std::vector<float> x, y;
  for (int i = 1; i <= 40; ++i) {
    x.push_back(static_cast<float>(i) + 0.37F);
    y.push_back(std::exp(x.back()));
  }
  write("x.npy", {40}, x);
  write("y.npy", {40}, y);
  const std::string arrays = " --in " + file("x.npy") + " --out " + file("y.npy");
  EXPECT_EQ(touchstone_run("check --op 'exp(x)'" + arrays).code, 0);
  EXPECT_EQ(touchstone_run("check --op 'exp(x)' --profile library" + arrays).code, 0);
  EXPECT_EQ(touchstone_run("check --op 'exp(x)' --profile glibc" + arrays).code, 0);
  EXPECT_EQ(
      touchstone_run("check --profile glibc --op 'exp2(x * 1.4426950408889634)'" + arrays).code, 1);
  ASSERT_EQ(touchstone_run("kernel 'exp(x[40])' --out " + file("k.json")).code, 0);
  EXPECT_EQ(touchstone_run("check " + file("k.json") + arrays).code, 0);
  EXPECT_THAT(touchstone_run("check --json --op 'exp(x)'" + arrays).text,
              HasSubstr(R"("profile":"library")"));
  EXPECT_EQ(touchstone_run("explain --op 'exp(x)' --at 39" + arrays).code, 0);
  EXPECT_THAT(touchstone_run("probe --seconds 0 --json --op 'exp(x)' --in " + file("x.npy")).text,
              HasSubstr(R"("profile":"library")"));
}

TEST_F(CliKernel, ATextBecomesAKernelThatRuns) {
  const Answer written = touchstone_run("kernel 'sum(x[2,3] * 2, axis=1)' --out " + file("k.json"));
  ASSERT_EQ(written.code, 0) << written.text;
  EXPECT_THAT(written.text, HasSubstr("input 1 x: 6 elements of float32"));
  write("x.npy", {2, 3}, {1, 2, 3, 4, 5, 6});
  const Answer run = touchstone_run("eval " + file("k.json") + " --in " + file("x.npy") +
                                    " --out " + file("y.npy"));
  ASSERT_EQ(run.code, 0) << run.text;
  const Answer good = touchstone_run("check --op 'sum(x[2,3] * 2, axis=1)' --in " + file("x.npy") +
                                     " --out " + file("y.npy"));
  EXPECT_EQ(good.code, 0) << good.text;
  write("y.npy", {2, 1}, {12, 31});
  const Answer bad = touchstone_run("check --op 'sum(x[2,3] * 2, axis=1)' --in " + file("x.npy") +
                                    " --out " + file("y.npy"));
  EXPECT_EQ(bad.code, 1) << bad.text;
  for (const char* at : {"1", "1,0"}) {
    const Answer one = touchstone_run("explain --op 'sum(x[2,3] * 2, axis=1)' --in " +
                                      file("x.npy") + " --out " + file("y.npy") + " --at " + at);
    EXPECT_EQ(one.code, 1) << one.text;
    EXPECT_THAT(one.text, HasSubstr("(31.0): not legal under glibc (the default)"));
  }
  for (const std::string verb : {"check", "explain --at 1"}) {
    const Answer named =
        touchstone_run(verb + " --op 'sum(x[2,3] * 2, axis=1)' --in x=" + file("x.npy") +
                       " --out out=" + file("y.npy"));
    EXPECT_EQ(named.code, 1) << named.text;
    const Answer other =
        touchstone_run(verb + " --op 'sum(x[2,3] * 2, axis=1)' --in x=" + file("x.npy") +
                       " --out y=" + file("y.npy"));
    EXPECT_EQ(other.code, 2) << other.text;
    EXPECT_THAT(other.text, HasSubstr("a kernel's output is named out: write --out out="));
  }
  const Answer nodes = touchstone_run("blame --op 'sum(x[2,3] * 2, axis=1)' --nodes");
  EXPECT_EQ(nodes.code, 0) << nodes.text;
  EXPECT_THAT(nodes.text, HasSubstr("REDUCE_SUM"));
  for (const char* verb : {"explain --at 0", "blame --nodes"})
    EXPECT_THAT(touchstone_run(verb).text, HasSubstr("or a kernel as --op")) << verb;
  const Answer printed = touchstone_run("kernel 'sum(x[2,3] * 2, axis=1)'");
  EXPECT_EQ(printed.text, read_file(file("k.json")));
}

TEST_F(CliKernel, DefinitionsAreListedAndErrorsShowThePlace) {
  const Answer list = touchstone_run("kernel --list");
  EXPECT_EQ(list.code, 0);
  EXPECT_THAT(list.text,
              HasSubstr("  conv2d(x, w, b?, stride=1, padding=0, dilation=1, groups=1)"));
  EXPECT_THAT(list.text, HasSubstr("  exp2(x)"));
  const Answer wrong = touchstone_run("kernel 'softmx(x[2])'");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.text, HasSubstr("did you mean 'softmax'?"));
  EXPECT_THAT(wrong.text, HasSubstr("\n  softmx(x[2])\n  ^"));
  EXPECT_EQ(touchstone_run("kernel -- '-x[2]'").code, 0);
  EXPECT_EQ(touchstone_run("kernel '-x[2]' --tree").code, 0);
  EXPECT_EQ(touchstone_run("kernel").code, 2);
  EXPECT_EQ(touchstone_run("check --out y.npy").code, 2);
}

TEST_F(CliKernel, EachStageOfItsWayIsShown) {
  const auto at = [](const std::string& stage, const std::string& text = "'sum(x[3,40], axis=1)'") {
    return touchstone_run("kernel " + text + " --stage " + stage);
  };
  EXPECT_THAT(at("ast").text, HasSubstr("REDUCE_SUM axes [1]"));
  EXPECT_THAT(at("steps").text, HasSubstr("LOAD_ACC f32"));
  EXPECT_EQ(at("uops").text, at("steps").text);  // its old name
  EXPECT_THAT(at("c").text, HasSubstr("f32 acc"));
  EXPECT_THAT(at("asm").text, HasSubstr("r_3_40:"));
  EXPECT_THAT(at("profile").text, HasSubstr(R"("sum": {"folded": 16})"));
  ASSERT_EQ(touchstone_run("kernel 'sum(x[3,40], axis=1)' --out " + file("k.json")).code, 0);
  EXPECT_EQ(at("c", file("k.json")).text, at("c").text);
  EXPECT_EQ(touchstone_run("kernel " + file("k.json")).code, 2);  // it is a kernel.json already
  EXPECT_EQ(at("wasm").code, 2);
  EXPECT_EQ(at("c", file("none.json")).code, 2);
}

TEST_F(CliKernel, APageShowsAllStages) {
  const Answer made = touchstone_run("kernel 'sum(x[3,40], axis=1)' --html " + file("k.html"));
  ASSERT_EQ(made.code, 0) << made.text;
  const std::string page = read_file(file("k.html"));
  for (const char* part :
       {"REDUCE_SUM axes [1]", "LOAD_ACC f32", "f32 acc", "sum(x[3,40], axis=1)"})
    EXPECT_THAT(page, HasSubstr(part));
  ASSERT_EQ(touchstone_run("kernel 'sum(x[3,40], axis=1)' --out " + file("k.json")).code, 0);
  EXPECT_THAT(touchstone_run("kernel " + file("k.json") + " --html -").text,
              HasSubstr("LOAD_ACC f32"));
  for (const char* other : {"--stage c", "--beam 2", "--tree", "--list", "--out k.json"})
    EXPECT_EQ(touchstone_run(std::string("kernel 'x[3]' --html a.html ") + other).code, 2) << other;
  // A variable size, as --stage accepts.
  write_file_atomically(file("n.json"),
                        R"({"touchstone_kernel":1,"variables":{"n":[1,8]},"buffers":[
    {"dtype":"float32","idx":0,"size":4},{"dtype":"float32","idx":1,"size":32}],"nodes":[
    {"arg":{"buffer":1,"views":[{"mask":null,"offset":0,"shape":[4,"n"],"strides":[8,1]}]},
     "dtype":"float32","id":0,"op":"LOAD","src":[]},
    {"arg":{"accumulator":"float32","axes":[1]},"dtype":"float32","id":1,"op":"REDUCE_SUM",
     "src":[0]},
    {"arg":{"buffer":0,"views":[{"mask":null,"offset":0,"shape":[4,1],"strides":[1,0]}]},
     "dtype":"float32","id":2,"op":"STORE","src":[1]}]})");
  const Answer symbolic = touchstone_run("kernel " + file("n.json") + " --html -");
  EXPECT_EQ(symbolic.code, 0) << symbolic.text;
  EXPECT_THAT(symbolic.text, HasSubstr("n*16 + 16 bytes"));
}

// The commands of docs/define.md.
TEST_F(CliKernel, ThePageIsTrue) {
  const std::string page = read_file(TOUCHSTONE_SOURCE_DIR "/docs/define.md");
  for (const char* text :
       {"softmax(x[64,128])", "relu(matmul(a[8,16], b[16,4]) + c[4])", "softmax(x[2,3], axs=1)"}) {
    ASSERT_THAT(page, HasSubstr("kernel '" + std::string(text)));
    const Answer run = touchstone_run("kernel '" + std::string(text) + "'");
    if (run.code != 0) {
      EXPECT_THAT(page, HasSubstr(run.text));
    }
  }
}

}  // namespace
}  // namespace touchstone
