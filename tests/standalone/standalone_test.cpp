#include "touchstone/standalone/standalone.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <gmock/gmock.h>

#include "touchstone/base/file.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/lazy/realize.h"
#include "touchstone/tensor/indexing.h"
#include "touchstone/tensor/models.h"

namespace touchstone {
namespace {

using testing::HasSubstr;

class Standalone : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_interpreted_device();
    register_clang_device();
  }

  static std::string bytes_of(const LazyBufferPtr& value) {
    std::string bytes(value->realized()->bytes(), '\0');
    value->realized()->copy_out(std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }

  // Compiles and runs the program; returns its outputs, or nothing on failure, with the reason in
  // `said_`.
  std::vector<std::string> run(std::span<const LazyBufferPtr> inputs,
                               std::span<const LazyBufferPtr> outputs,
                               const std::string& name = "net",
                               const std::string& compiler = "cc -O0") {
    const TemporaryDirectory folder("touchstone-standalone");
    const CodegenOptions codegen = ClangOptions::from_environment().codegen;
    for (const auto& [file, text] : standalone_c(name, inputs, outputs, codegen))
      write_file_atomically(folder.path() / file, text);
    std::string words;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      write_file_atomically(folder.path() / fmt::format("in{}", i), bytes_of(inputs[i]));
      words += fmt::format(" in{}", i);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) words += fmt::format(" out{}", i);
    const std::string command = fmt::format(
        "cd '{}' && {{ {} -std=c11 -Wall -Wextra -pedantic -Werror -Wno-unknown-pragmas "
        "-ffp-contract=off {}.c "
        "main.c -lm -o program && ./program {}.weights{}; }} 2>said",
        folder.path().string(), compiler, name, name, words);
    const int status = std::system(command.c_str());
    said_ = read_file(folder.path() / "said");
    std::vector<std::string> written;
    if (status == 0)
      for (std::size_t i = 0; i < outputs.size(); ++i)
        written.push_back(read_file(folder.path() / fmt::format("out{}", i)));
    return written;
  }

  std::string said_;
};

// The bits equal CLANG's, and are close to the reference's.
TEST_F(Standalone, ModelsGiveWhatTheyGiveHere) {
  for (const char* const name : {"softmax", "lenet", "digits", "mlp", "lstm", "gpt"}) {
    const models::ModelGraph graph = models::model(name).build("CLANG", false);
    realize(graph.leaves());
    std::vector<LazyBufferPtr> inputs;  // some may be the same
    for (const Tensor& input : graph.inputs)
      if (std::ranges::find(inputs, input.lazy()->base_ptr()) == inputs.end())
        inputs.push_back(input.lazy()->base_ptr());
    const LazyBufferPtr output = graph.output.lazy()->contiguous();
    const auto written = run(inputs, std::span(&output, 1));
    ASSERT_EQ(written.size(), 1U) << name << said_;
    realize(std::span(&output, 1));
    EXPECT_EQ(written[0] == bytes_of(output), true) << name;

    const models::ModelGraph same = models::model(name).build("CPU", false);
    const std::vector<float> right = same.output.read<float>();
    const std::vector<float> here = graph.output.read<float>();
    ASSERT_EQ(right.size() * sizeof(float), written[0].size());
    for (std::size_t i = 0; i < right.size(); ++i)
      EXPECT_NEAR(here[i], right[i], 1e-3 * (1 + std::abs(right[i]))) << name;
  }
}

// Inputs reread by the next call, results that are inputs or constants, types of every size, and an
// empty axis.
TEST_F(Standalone, OutputsOfEveryKind) {
  const Tensor a = Tensor::from(std::vector<float>{1, -2, 3, -4, 5, 6}, {2, 3}, "CPU");
  const Tensor b = Tensor::from(std::vector<std::int64_t>{7, -8, 9}, {3}, "CPU");
  const Tensor w = Tensor::from(std::vector<float>{10, 20, 30}, {3}, "CPU").realize();
  const std::vector<LazyBufferPtr> inputs{a.realize().lazy(), b.realize().lazy()};
  const std::vector<Tensor> results{(a * w).sum({1}),
                                    a.permute({1, 0}),
                                    a,
                                    w,
                                    Tensor::full({2, 2}, 3.5, {.dtype = DType::Float64}),
                                    b.cast(DType::Int8),
                                    (a > 0.0),
                                    a.cast(DType::Float16).exp(),
                                    a.shrink({{0, 0}, {0, 3}}) + 1.0};
  std::vector<LazyBufferPtr> outputs;
  for (const Tensor& t : results) outputs.push_back(t.lazy());
  for (const char* const compiler :
       {"cc -O0", "cc -O3 -fsanitize=undefined -fno-sanitize-recover=all", "clang-19 -O2"}) {
    const auto written = run(inputs, outputs, "net", compiler);
    ASSERT_EQ(written.size(), results.size()) << said_;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const LazyBufferPtr right = results[i].lazy()->contiguous();
      realize(std::span(&right, 1));
      ASSERT_TRUE(right->realized() != nullptr || written[i].empty()) << i;
      EXPECT_EQ(written[i], right->realized() ? bytes_of(right) : "") << i;
    }
  }
}

TEST_F(Standalone, APositionOutsideIsAnswered) {
  const Tensor table = Tensor::from(std::vector<float>{1, 2, 3}, {3, 1}, "CPU").realize();
  for (const std::int64_t at : {2, 3, -4}) {
    const Tensor which = Tensor::from(std::vector<std::int64_t>{0, 1}, {2}, "CPU").realize();
    const std::vector<LazyBufferPtr> inputs{which.lazy()}, outputs{take(table, which, 0).lazy()};
    which.lazy()->realized()->write<std::int64_t>(std::vector<std::int64_t>{0, at});
    const auto written = run(inputs, outputs);
    EXPECT_EQ(written.size(), at == 2 ? 1U : 0U) << said_;
    EXPECT_THAT(said_, HasSubstr(at == 2 ? "" : "a position in an input is outside its axis"));
  }
}

std::string refusal(std::string_view name, const std::vector<LazyBufferPtr>& inputs,
                    const std::vector<LazyBufferPtr>& outputs) {
  try {
    standalone_c(name, inputs, outputs);
    return "none";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST_F(Standalone, WhatCannotBeWrittenIsNamed) {
  const Tensor a = Tensor::from(std::vector<float>{1, 2}, {2}, "CPU").realize();
  const std::vector<LazyBufferPtr> one{a.lazy()}, out{(a + 1.0).lazy()};
  EXPECT_EQ(refusal("net", one, out), "none");
  for (const char* const name : {"", "2x", "a-b", "a b", "main"})
    EXPECT_THAT(refusal(name, one, out), HasSubstr("not a valid C function name")) << name;
  EXPECT_THAT(refusal("net", one, {}), HasSubstr("must have an output"));
  EXPECT_THAT(refusal("net", out, out), HasSubstr("input0 of the program has no memory yet"));
  EXPECT_THAT(refusal("net", {one[0], one[0]}, out),
              HasSubstr("input1 of the program is already an input"));
  EXPECT_THAT(refusal("net", one, {LazyBuffer::random({1, 0}, {2}, "CPU")}),
              HasSubstr("random numbers"));
  EXPECT_THAT(refusal("net", one, {a.to("CLANG").lazy()}), HasSubstr("another device"));
}

}  // namespace
}  // namespace touchstone
