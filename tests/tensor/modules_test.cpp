// Layers without a bias, modules that list their state, and new layers against loops.
#include "tensor_check.h"
#include "touchstone/base/file.h"
#include "touchstone/tensor/networks.h"
#include "touchstone/tensor/optim.h"

namespace touchstone {
namespace {

class Modules : public OnDevice {
 protected:
  nn::LayerOptions options(bool bias = true) const { return {DType::Float64, device(), bias}; }
};
TOUCHSTONE_ON_DEVICES(Modules);

std::vector<std::string> names(const nn::StateDict& state) {
  std::vector<std::string> all;
  for (const nn::NamedTensor& entry : state) all.push_back(entry.name);
  return all;
}
using Names = std::vector<std::string>;

struct Inner final : nn::Module {
  explicit Inner(Generator& g)
      : dense(part("dense", nn::Linear(2, 3, g, {.bias = false}))),
        norm(part("norm", nn::BatchNorm(3))),
        scale(parameter("scale", Tensor::ones({3}))),
        count(buffer("count", Tensor::zeros({1}, {DType::Int32, "CPU"}))) {}
  nn::Linear dense;
  nn::BatchNorm norm;
  Tensor scale, count;
};
struct Outer final : nn::Module {
  explicit Outer(Generator& g) {
    for (int i = 0; i < 2; ++i) blocks.push_back(part(fmt::format("blocks.{}", i), Inner(g)));
  }
  std::vector<Inner> blocks;
};

TEST(ModuleState, ListsParametersAndBuffersOfPartsOfParts) {
  register_devices();
  Generator generator(1);
  const Outer net(generator);
  const Names one = {"dense.weight",     "norm.weight", "norm.bias", "norm.running_mean",
                     "norm.running_var", "scale",       "count"};
  Names both;
  for (const char* prefix : {"blocks.0.", "blocks.1."})
    for (const std::string& name : one) both.push_back(prefix + name);
  EXPECT_EQ(names(net.state()), both);
  EXPECT_EQ(net.parameters().size(), 8U);
  EXPECT_EQ(names(net.buffers()),
            (Names{"blocks.0.norm.running_mean", "blocks.0.norm.running_var", "blocks.0.count",
                   "blocks.1.norm.running_mean", "blocks.1.norm.running_var", "blocks.1.count"}));
  EXPECT_EQ(net.named_parameters()[0].name, "blocks.0.dense.weight");
  // The list refers to the members themselves, also in a copy.
  const Outer copy = net;
  Tensor(copy.blocks[1].scale).assign(Tensor::full({3}, 7));
  EXPECT_EQ(net.state()[12].tensor.read<float>(), (std::vector<float>{7, 7, 7}));
}

TEST(ModuleState, ACopyOfANetworkIsOneMadeLikeIt) {
  register_devices();
  Generator generator(1);
  const Outer net(generator);
  Outer other(generator);
  const Tensor weight = net.blocks[0].dense.weight;
  EXPECT_NE(other.blocks[0].dense.weight.read<float>(), weight.read<float>());
  nn::copy_state(net.state(), other.state());
  EXPECT_EQ(other.blocks[0].dense.weight.read<float>(), weight.read<float>());
  EXPECT_TRUE(other.blocks[0].dense.weight.requires_grad());
  Tensor(other.blocks[0].dense.weight).assign(Tensor::zeros_like(weight));
  EXPECT_NE(other.blocks[0].dense.weight.read<float>(), weight.read<float>());
  EXPECT_THROW(nn::copy_state(net.state(), net.blocks[0].state()), Error);
}

TEST_P(Modules, WithoutABiasThereIsNone) {
  Generator generator(2), same(2);
  const nn::Linear with(3, 2, generator, options()), without(3, 2, same, options(false));
  EXPECT_FALSE(without.bias.defined());
  EXPECT_EQ(names(without.state()), Names{"weight"});
  EXPECT_EQ(without.weight.read<double>(), with.weight.read<double>());
  const Tensor x = make(some(6), {2, 3});
  expect_near(with(x) - with.bias, read_doubles(without(x)));
  EXPECT_THROW((void)without.bias.shape(), Error);
  const nn::Conv2d conv(2, 2, {1, 1}, generator, {}, options(false));
  EXPECT_EQ(conv(make(some(8), {1, 2, 2, 2})).shape(), (Shape{1, 2, 2, 2}));
  const nn::LSTM lstm(2, 3, generator, options(false));
  EXPECT_EQ(names(lstm.state()), (Names{"weight_ih_l0", "weight_hh_l0"}));
  EXPECT_EQ(lstm(make(some(4), {1, 2, 2})).outputs.shape(), (Shape{1, 2, 3}));
  const nn::GRU gru(2, 3, generator, options(false));
  EXPECT_EQ(gru(make(some(4), {1, 2, 2})).outputs.shape(), (Shape{1, 2, 3}));
  const nn::MultiHeadAttention attention(4, 2, generator, options(false));
  EXPECT_EQ(attention.state().size(), 4U);
}

TEST_P(Modules, NormsWithoutScaleAndRunningStatistics) {
  const nn::BatchNormOptions plain{DType::Float64, device(), false, false};
  const nn::BatchNorm batch(2, 0.1, 1e-5, plain);
  EXPECT_TRUE(batch.state().empty());
  const Tensor x = make({1, 2, 3, 4, 5, 7}, {3, 2});
  // Means 3 and 13/3; the same in both modes.
  for (const nn::Mode mode : {nn::Mode::Train, nn::Mode::Evaluate}) {
    const Doubles got = read_doubles(batch(x, mode));
    EXPECT_NEAR(got[0], -2 / std::sqrt(8.0 / 3 + 1e-5), 1e-12);
    EXPECT_NEAR(got[5], (7 - 13.0 / 3) / std::sqrt(38.0 / 9 + 1e-5), 1e-12);
  }
  const nn::NormOptions bare{DType::Float64, device(), false};
  EXPECT_TRUE(nn::LayerNorm({2}, 1e-5, bare).state().empty());
  EXPECT_TRUE(nn::GroupNorm(1, 2, 1e-5, bare).state().empty());
  EXPECT_TRUE(nn::RMSNorm(2, 1e-6, bare).state().empty());
  EXPECT_EQ(nn::LayerNorm({2}, 1e-5, bare)(x).shape(), (Shape{3, 2}));
  EXPECT_THROW(nn::LayerNorm({3}, 1e-5, bare)(x), ShapeError);
}

TEST_P(Modules, ImagesAreNormalisedByPlaceInFourAxes) {
  const nn::LayerNorm2d layer(3, 0.1, nn::NormOptions{DType::Float64, device()});
  EXPECT_THROW(layer(make(some(4), {1, 4})), ShapeError);
}

TEST_P(Modules, TransposedConvolutionsHaveWeightsOfInputsByOutputs) {
  Generator generator(4);
  const nn::ConvTranspose1d one(2, 3, 3, generator, {.stride = {2}, .padding = {1}}, options());
  EXPECT_EQ(one.weight.shape(), (Shape{2, 3, 3}));
  EXPECT_LE(one.weight.abs().max().item<double>(), 1 / std::sqrt(9.0));
  const nn::ConvTranspose2d two(2, 2, {2, 2}, generator, {.stride = {2}, .groups = 2},
                                options(false));
  EXPECT_EQ(two.weight.shape(), (Shape{2, 1, 2, 2}));
  EXPECT_EQ(two(make(some(8), {1, 2, 2, 2})).shape(), (Shape{1, 2, 4, 4}));
  EXPECT_THROW(two(make(some(8), {2, 2, 2})), ShapeError);
  EXPECT_THROW(one(make(some(8), {1, 2, 2, 2})), ShapeError);
}

TEST_P(Modules, SequentialsAndDropoutKnowWhetherTheyTrain) {
  Generator generator(5);
  const nn::Sequential net(
      nn::Linear(2, 8, generator, options()), [](const Tensor& x) { return x.relu(); },
      nn::Dropout(0.5, &generator),
      nn::BatchNorm(8, 0.1, 1e-5, TensorOptions{DType::Float64, device()}),
      nn::Linear(8, 1, generator, options(false)));
  EXPECT_EQ(names(net.state()), (Names{"0.weight", "0.bias", "3.weight", "3.bias", "3.running_mean",
                                       "3.running_var", "4.weight"}));
  const Tensor x = make(some(20), {10, 2});
  const Doubles first = read_doubles(net(x));
  EXPECT_EQ(read_doubles(net(x)), first);
  EXPECT_EQ(read_doubles(net.state()[4].tensor), Doubles(8, 0));
  {
    const TrainingScope training;
    const Doubles dropped = read_doubles(net(x));
    EXPECT_NE(dropped, first);
    EXPECT_NE(read_doubles(net(x)), dropped);
  }
  EXPECT_NE(read_doubles(net.state()[4].tensor), Doubles(8, 0));
  const nn::Sequential copy = net;
  EXPECT_EQ(copy.state().size(), net.state().size());
}

}  // namespace
}  // namespace touchstone
