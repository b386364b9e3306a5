#include "touchstone/tensor/tensor_jit.h"

#include <gmock/gmock.h>

#include "../support/error_of.h"
#include "tensor_check.h"
#include "touchstone/tensor/nn.h"
#include "touchstone/tensor/optim.h"

namespace touchstone {
namespace {

using test::error_of;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

class JitOfTensors : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_devices(); }
  static Tensor of(const Floats& values, const Shape& shape) {
    return Tensor::from<float>(values, shape);
  }
};

TEST_F(JitOfTensors, IsBuiltTwiceAndReplayedOnEachInput) {
  Generator generator(3);
  const nn::Linear layer(4, 2, generator);
  int built = 0;
  TensorJit net([&](const Tensor& x) {
    ++built;
    return softmax(layer(x).relu());
  });
  for (int i = 0; i < 5; ++i) {
    const Tensor x = generator.normal({3, 4});
    EXPECT_EQ(net(x).read<float>(), softmax(layer(x).relu()).read<float>());
  }
  EXPECT_EQ(built, 2);
  EXPECT_GT(net.captured(), 1u);
  net.reset();
  net(generator.normal({3, 4}));
  EXPECT_EQ(built, 3);
}

TEST_F(JitOfTensors, GivesGradientsThatTheFunctionReturns) {
  Tensor weight = of({1, -2}, {2});
  weight.set_requires_grad();
  TensorJit step([&](std::span<const Tensor> in) {
    const Tensor loss = ((in[0] * weight).sum() - in[1]).square();
    return TensorJit::Tensors{loss, gradients(loss, {weight})[0]};
  });
  for (int i = 0; i < 4; ++i) {
    const auto k = static_cast<float>(i);
    const auto out = step(std::vector{of({k, 1}, {2}), of({3}, {1}).sum()});
    EXPECT_EQ(out[0].item<float>(), (k - 5) * (k - 5));
    EXPECT_EQ(out[1].read<float>(), (Floats{2 * (k - 5) * k, 2 * (k - 5)}));
    EXPECT_FALSE(out[0].requires_grad());
  }
}

TEST_F(JitOfTensors, TakesConstantsAndSizesThatAreVariables) {
  const sint n(symbolic::variable("n", 1, 4));
  TensorJit total([&](std::span<const Tensor> in) {
    return TensorJit::Tensors{(Tensor(in[0].lazy()->shrink({{0, n}})) * 2.0).sum(), in[1] + 1.0};
  });
  const Tensor x = of({1, 2, 3, 4}, {4});
  const float wanted[] = {2, 6, 12, 20, 6};
  const std::int64_t sizes[] = {1, 2, 3, 4, 2};
  for (std::size_t i = 0; i < 5; ++i) {
    const auto out =
        total(std::vector{x, Tensor::full({2}, static_cast<double>(i))}, {{"n", sizes[i]}});
    EXPECT_EQ(out[0].item<float>(), wanted[i]);
    EXPECT_EQ(out[1].read<float>(), Floats(2, static_cast<float>(i) + 1));
  }
}

TEST_F(JitOfTensors, WhatAReplayWouldNotDoIsNamed) {
  const Tensor x = of({1, 2}, {2});
  TensorJit twice([](const Tensor& in) { return in * 2.0; });
  for (int i = 0; i < 2; ++i) twice(x);
  EXPECT_THAT(error_of([&] {
                twice(of({1, 2, 3}, {3}));
              }),
              HasSubstr("input 0 is float32 (3,) on CPU, captured with float32 (2,)"));
  EXPECT_THAT(error_of([&] { twice(x.cast(DType::Float64)); }), HasSubstr("input 0 is float64"));
  EXPECT_THAT(error_of([&] { twice(std::vector{x, x}); }), HasSubstr("2 inputs given"));
  EXPECT_EQ(twice(x).read<float>(), (Floats{2, 4}));  // and it still works
  Tensor state = of({0, 0}, {2});
  TensorJit counts([&](const Tensor& in) {
    state.assign(state + in);
    return state * 1.5;
  });
  counts(x);
  EXPECT_THAT(error_of([&] { counts(x); }), HasSubstr("return the new values"));
  Tensor weight = of({1, 1}, {2});
  weight.set_requires_grad();
  optim::SGD sgd({weight}, 0.1);
  TensorJit trains([&](const Tensor& in) {
    const Tensor loss = (in * weight).sum();
    sgd.zero_grad();
    loss.backward();
    sgd.step();
    return loss;
  });
  trains(x);
  EXPECT_THAT(error_of([&] { trains(x); }), HasSubstr("return the new values"));
  TensorJit draws([](const Tensor& in) {
    Generator generator(1);
    return in + generator.uniform({2});
  });
  draws(x);
  EXPECT_THAT(error_of([&] { draws(x); }), HasSubstr("random numbers"));
}

}  // namespace
}  // namespace touchstone
