// The example of docs/tensor.md: the page shows the code compiled here.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "../support/public_names.h"
#include "tensor_check.h"
#include "touchstone/base/file.h"
#include "touchstone/tensor/networks.h"
#include "touchstone/tensor/optim.h"
#include "touchstone/tensor/tensor_jit.h"

namespace touchstone {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(TOUCHSTONE_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(file.is_open()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The text between two others, with `indent` spaces removed from each line.
std::string between(const std::string& text, const std::string& from, const std::string& to,
                    std::size_t indent) {
  const std::size_t begin = text.find(from) + from.size();
  std::istringstream lines(text.substr(begin, text.find(to, begin) - begin));
  std::string out;
  for (std::string line; std::getline(lines, line);)
    if (line.size() > indent) out += line.substr(indent) + '\n';
  return out;
}

TEST(TensorDocs, TheirExampleRuns) {
  register_devices();
  const TemporaryDirectory directory;
  const std::filesystem::path& folder = directory.path();
  // [example]
  Generator generator(7);
  const models::Mlp net({2, 16, 2}, generator);  // linear, relu, linear
  optim::AdamW optimizer(net.parameters(), 0.02);
  const Tensor points = generator.normal({64, 2});
  const Tensor inside = (points.square().sum({1}) < 1.4).cast(DType::Int32);
  float loss_was = 0;
  for (int i = 0; i < 60; ++i) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(net(points), inside);
    loss.backward();
    optimizer.step({loss});  // loss, gradients and new weights in one schedule
    loss_was = loss.item<float>();
  }
  const Tensor right = (net(points).argmax(1) == inside).cast(DType::Float32).mean();
  nn::save_state(folder / "net.safetensors", net.state());
  // [end]
  // [jit]
  TensorJit step([&](std::span<const Tensor> in) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(net(in[0]), in[1]);
    loss.backward();
    optimizer.step({loss});
    return TensorJit::Tensors{loss};
  });
  const Tensor loss = step(std::vector{points, inside})[0];
  // [done]
  float jitted = loss.item<float>();
  for (int i = 0; i < 10; ++i) jitted = step(std::vector{points, inside})[0].item<float>();
  EXPECT_LT(jitted, loss.item<float>());
  EXPECT_LT(loss_was, 0.4F);
  EXPECT_GT(right.item<float>(), 0.85F);
  EXPECT_TRUE(std::filesystem::exists(folder / "net.safetensors"));
  // Built so that the markers are not found here.
  const std::string mark = "// [";
  EXPECT_EQ(between(text_of("docs/tensor.md"), "```cpp\n", "```", 0),
            between(text_of("tests/tensor/docs_test.cpp"), mark + "example]\n", mark + "end]", 2));
  EXPECT_EQ(between(text_of("docs/tensor.md"), "stay those of the capture.\n\n```cpp\n", "```", 0),
            between(text_of("tests/tensor/docs_test.cpp"), mark + "jit]\n", mark + "done]", 2));
}

std::set<std::string> public_names(const std::string& header) {
  return test::public_names(text_of("lib/tensor/" + header));
}

TEST(TensorDocs, TheTableOfNamesHasEveryPublicFunctionAndAReasonForEachNo) {
  std::set<std::string> declared = {"NoGrad", "TrainingScope", "Plateau", "TensorJit"};
  for (const char* header : {"tensor.h", "modes.h", "print.h", "conv.h", "einsum.h", "indexing.h",
                             "functional.h", "generator.h", "nn.h", "optim.h", "schedules.h",
                             "state.h", "tensor_jit.h", "check_finite.h"})
    declared.merge(public_names(header));
  for (const char* no_function : {"operator=", "operator", "ran"}) declared.erase(no_function);
  EXPECT_GT(declared.size(), 250U);
  std::istringstream lines(text_of("docs/tensor-names.md"));
  // Functions that compare alike share a row.
  const std::regex row(R"(^\| (-|`(?:[^|]|\\\|)+`) \| (.*) \| (.*) \| (\w+) \|(.*)\|$)");
  const std::regex quoted("`([^`]+)`");
  std::set<std::string> listed;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ") || line.starts_with("| here")) continue;
    std::smatch cells;
    ASSERT_TRUE(std::regex_match(line, cells, row)) << line;
    const std::string names = std::regex_replace(cells[1].str(), std::regex(R"(\\\|)"), "|"),
                      verdict = cells[4], note = cells[5];
    EXPECT_TRUE(verdict == "yes" || verdict == "no" || verdict == "different") << line;
    EXPECT_EQ(verdict == "no", names == "-") << line;
    if (verdict != "yes") {
      EXPECT_GT(note.size(), 3U) << line << " has no reason";
    }
    for (std::sregex_iterator it(names.begin(), names.end(), quoted), end; it != end; ++it) {
      const std::string name = (*it)[1];
      EXPECT_TRUE(listed.insert(name).second) << name << " has two rows";
      EXPECT_TRUE(declared.contains(name)) << name << " is in no header";
    }
  }
  for (const std::string& name : declared)
    EXPECT_TRUE(listed.contains(name)) << name << " has no row in docs/tensor-names.md";
}

}  // namespace
}  // namespace touchstone
