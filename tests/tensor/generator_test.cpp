#include <gtest/gtest.h>

#include <algorithm>

#include "tensor_check.h"
#include "touchstone/device/threefry.h"
#include "touchstone/tensor/nn.h"

namespace touchstone {
namespace {

class Random : public OnDevice {};
TOUCHSTONE_ON_DEVICES(Random);

TEST_P(Random, UniformIsTheStreamOfTheSeedBitForBit) {
  Generator generator(42);
  const auto first = generator.uniform({2, 3}, 0, 1, {.device = device()}).read<float>();
  const auto second = generator.uniform({5}, 0, 1, {.device = device()}).read<float>();
  std::vector<float> stream(11);
  random_uniform(42, 0, stream);
  EXPECT_EQ(first, std::vector<float>(stream.begin(), stream.begin() + 6));
  EXPECT_EQ(second, std::vector<float>(stream.begin() + 6, stream.end()));
  EXPECT_EQ(generator.position(), 11u);
}

TEST_P(Random, TheStreamIsThreefry) {
  // Salmon et al., Random123 1.14 kat_vectors: threefry2x32 20, key 0, counter 0.
  Generator generator(0);
  const auto values = generator.uniform({2}, 0, 1, {.device = device()}).read<float>();
  EXPECT_EQ(values[0], static_cast<float>(0x6b200159 >> 8) / 16777216.0F);
  EXPECT_EQ(values[1], static_cast<float>(0x99ba4efe >> 8) / 16777216.0F);
}

TEST_P(Random, ScaledDrawsAreTheSameBitsOnEveryDevice) {
  Generator here(7), there(7);
  const auto mine = here.uniform({100}, -0.3, 0.7, {.device = device()}).read<float>();
  EXPECT_EQ(mine, there.uniform({100}, -0.3, 0.7).read<float>());
  EXPECT_GE(*std::ranges::min_element(mine), -0.3F);
  EXPECT_LT(*std::ranges::max_element(mine), 0.7F);
  EXPECT_EQ(here.normal({9}, 1, 2, {.device = device()}).read<float>(),
            there.normal({9}, 1, 2).read<float>());
}

TEST_P(Random, NormalHasItsMoments) {
  Generator generator(5);
  const Tensor x = generator.normal({10000}, 3, 2, {DType::Float64, device()});
  EXPECT_NEAR(x.mean().item<double>(), 3, 0.1);
  EXPECT_NEAR((x - 3.0).square().mean().item<double>(), 4, 0.2);
}

TEST_P(Random, DropoutKeepsTheExpectedValue) {
  Generator generator(5);
  const Tensor x = dropout(Tensor::ones({10000}, {.device = device()}), 0.25, generator);
  const auto values = x.read<float>();
  const auto kept = std::ranges::count_if(values, [](float v) { return v != 0; });
  EXPECT_NEAR(static_cast<double>(kept), 7500, 200);
  for (const float v : values) EXPECT_TRUE(v == 0 || v == 1.0F / 0.75F);
}

TEST(Permutation, HoldsEachNumberOnce) {
  Generator generator(1);
  auto order = generator.permutation(1000);
  const auto again = generator.permutation(1000);
  EXPECT_NE(order, again);
  std::ranges::sort(order);
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<std::int64_t>(i));
}

TEST(Layers, AreDrawnWithinTheirBounds) {
  register_devices();
  Generator generator(1);
  const nn::Linear dense(16, 8, generator);
  EXPECT_EQ(dense.weight.shape(), (Shape{8, 16}));
  EXPECT_TRUE(dense.weight.requires_grad());
  EXPECT_LE(dense.weight.abs().max().item<float>(), 0.25F);
  EXPECT_EQ(dense(Tensor::ones({3, 16})).shape(), (Shape{3, 8}));
  const nn::Conv2d conv(2, 4, {3, 3}, generator, {.padding = {1, 1}});
  EXPECT_EQ(conv(Tensor::ones({1, 2, 5, 5})).shape(), (Shape{1, 4, 5, 5}));
  EXPECT_EQ(conv.parameters().size(), 2u);
}

}  // namespace
}  // namespace touchstone
