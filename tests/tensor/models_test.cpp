#include "touchstone/tensor/models.h"

#include <gtest/gtest.h>

#include <map>

#include "tensor_check.h"
#include "touchstone/device/config.h"

namespace touchstone::models {
namespace {

// Forward, and loss with all gradients. The forward column is tinygrad@v0.8.0's; the other is below
// its (5, 8, 9, 8, 6, 6, 29, 13, 27, 55). docs/measured/performance.md has some by level.
const std::map<std::string_view, KernelCount> kCounts = {{"abc", {1, 4}},
                                                         {"softmax", {3, 5}},
                                                         {"log-softmax", {3, 6}},
                                                         {"layernorm", {3, 6}},
                                                         {"matmul", {1, 4}},
                                                         {"matmul-bias-relu", {1, 5}},
                                                         {"lenet", {7, 26}},
                                                         {"conv-bn-relu", {2, 10}},
                                                         {"resnet-block", {4, 21}},
                                                         {"digits", {5, 18}},
                                                         {"transformer-block", {17, 50}}};

TEST(Models, HaveTheKernelCountsOfTinygrad) {
  register_devices();
  const ConfigScope lazy{Config()};
  for (const auto& [name, wanted] : kCounts) {
    const Model& m = model(name);
    const KernelCount got = count_kernels(m, "CPU");
    EXPECT_EQ(got.forward, wanted.forward) << m.name;
    EXPECT_EQ(got.both, wanted.both) << m.name;
  }
  EXPECT_THROW(model("vgg"), Error);
  EXPECT_EQ(model("lenet").name, "lenet");
}

TEST(Models, NetworksTakeFewKernels) {
  register_devices();
  // At most the counts when first recorded.
  const std::map<std::string_view, KernelCount> most = {
      {"mlp", {3, 13}}, {"lstm", {25, 84}}, {"resnet18", {42, 314}}, {"gpt", {45, 135}}};
  EXPECT_EQ(models().size(), kCounts.size() + most.size());
  for (const auto& [name, limit] : most) {
    const KernelCount got = count_kernels(model(name), "CPU");
    EXPECT_LE(got.forward, limit.forward) << name;
    EXPECT_LE(got.both, limit.both) << name;
  }
}

TEST(Models, RangesTakeFewerKernels) {
  register_devices();
  Config config;
  config.scheduler = Scheduler::Ranges;
  const ConfigScope scope(config);
  const std::map<std::string_view, KernelCount> most = {
      {"abc", {1, 4}},         {"softmax", {1, 4}},      {"log-softmax", {1, 5}},
      {"layernorm", {1, 4}},   {"matmul", {1, 4}},       {"matmul-bias-relu", {1, 5}},
      {"lenet", {7, 26}},      {"conv-bn-relu", {2, 8}}, {"resnet-block", {4, 17}},
      {"digits", {5, 18}},     {"lstm", {19, 39}},       {"transformer-block", {11, 44}},
      {"resnet18", {23, 182}}, {"gpt", {28, 105}}};
  for (const auto& [name, limit] : most) {
    const KernelCount got = count_kernels(model(name), "CPU");
    EXPECT_LE(got.forward, limit.forward) << name;
    EXPECT_LE(got.both, limit.both) << name;
  }
}

TEST(Models, SmallReductionsHaveTheKernelCountsOfTinygrad) {
  register_devices();
  const ConfigScope lazy{Config()};
  const auto kernels = [](const Tensor& t) { return schedule(std::vector{t.lazy()}).size(); };
  const auto ready = [](const Shape& shape) { return Tensor::empty(shape).realize(); };
  EXPECT_EQ(kernels(ready({1024, 1024}).sum()), 2u);
  EXPECT_EQ(kernels(ready({1024, 1024}).sum({1})), 1u);
  EXPECT_EQ(kernels(ready({256, 128}).sum()), 2u);
  EXPECT_EQ(kernels(ready({181, 181}).sum()), 1u);
  EXPECT_EQ(kernels(ready({2048, 2048}).transpose().sum()), 2u);
  EXPECT_EQ(kernels(ready({32, 32}).argmax(1)), 2u);  // 3 there: arange is no kernel here
  const Tensor x = ready({4, 4});
  EXPECT_EQ(kernels(x.exp().pad({{1, 1}, {1, 1}}).sum()), 1u);  // 2 there: where(valid, exp, 0)
  EXPECT_EQ(kernels((x.unsqueeze(1).exp().expand({4, 3, 4}) * ready({4, 3, 4})).sum()), 2u);
}

using Values = std::vector<std::vector<float>>;

// The loss, and the gradient of each parameter.
Values gradients(std::string_view name, const std::string& device) {
  const ModelGraph graph = model(name).build(device, true);
  realize(graph.leaves());
  const Tensor loss = graph.output.square().mean();
  loss.backward();
  std::vector<Tensor> all{loss};
  for (const Tensor& p : graph.parameters) all.push_back(*p.grad());
  realize(all);
  Values values;
  for (const Tensor& t : all) values.push_back(t.read<float>());
  return values;
}

void expect_near(std::string_view name, const Values& got, const Values& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t t = 0; t < wanted.size(); ++t)
    for (std::size_t i = 0; i < wanted[t].size(); ++i)
      ASSERT_NEAR(got[t][i], wanted[t][i], 2e-4F * std::max(1e-2F, std::abs(wanted[t][i])))
          << name << ", tensor " << t << ", element " << i;
}

TEST(Models, GiveTheSameNumbersOnBothDevicesByEachScheduler) {
  register_devices();
  Config ranges;
  ranges.scheduler = Scheduler::Ranges;
  for (const std::string_view name : {"softmax", "layernorm", "matmul-bias-relu", "lenet"}) {
    const auto wanted = gradients(name, "CPU");
    expect_near(name, gradients(name, "CLANG"), wanted);
    const ConfigScope scope(ranges);
    EXPECT_EQ(gradients(name, "CPU"), wanted) << name;
    expect_near(name, gradients(name, "CLANG"), wanted);
  }
}

}  // namespace
}  // namespace touchstone::models
