#include <gtest/gtest.h>

#include <numeric>

#include "tensor_check.h"

namespace touchstone {
namespace {

class Movement : public OnDevice {
 protected:
  Tensor counting(const Sizes& sizes) const {
    Doubles values(static_cast<std::size_t>(count(sizes)));
    std::iota(values.begin(), values.end(), 0);
    return make(values, shape_of(sizes));
  }
};
TOUCHSTONE_ON_DEVICES(Movement);

TEST_P(Movement, ReshapePermuteFlipExpand) {
  const Tensor x = counting({2, 3});
  expect_near({{x.reshape({3, -1}), {0, 1, 2, 3, 4, 5}},
               {x.transpose(), {0, 3, 1, 4, 2, 5}},
               {x.permute({-1, 0}), {0, 3, 1, 4, 2, 5}},
               {x.flip({0, -1}), {5, 4, 3, 2, 1, 0}},
               {x.unsqueeze(1).expand({-1, 2, -1}), {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}}});
  EXPECT_EQ(x.reshape({-1}).shape(), (Shape{6}));
  EXPECT_EQ(x.unsqueeze(-1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(x.unsqueeze(0).squeeze(0).shape(), (Shape{2, 3}));
  EXPECT_EQ(counting({2, 3, 4}).flatten(1).shape(), (Shape{2, 12}));
}

TEST_P(Movement, PadShrinkCatStack) {
  const Tensor x = counting({2, 2});
  const Tensor both = Tensor::stack({x, x + 10}, 1);
  EXPECT_EQ(both.shape(), (Shape{2, 2, 2}));
  expect_near(
      {{x.pad({{1, 0}, {0, 1}}), {0, 0, 0, 0, 1, 0, 2, 3, 0}},
       {x.shrink({{1, 2}, {0, 2}}), {2, 3}},
       {Tensor::cat({x, x + 10, x.shrink({{0, 1}, {0, 2}})}), {0, 1, 2, 3, 10, 11, 12, 13, 0, 1}},
       {Tensor::cat({x, x + 10}, -1), {0, 1, 10, 11, 2, 3, 12, 13}},
       {both, {0, 1, 10, 11, 2, 3, 12, 13}}});
}

TEST_P(Movement, Creation) {
  expect_near(Tensor::eye(3, {DType::Float64, device()}), {1, 0, 0, 0, 1, 0, 0, 0, 1});
  expect_near(Tensor::eye(1, {DType::Float64, device()}), {1});
  EXPECT_EQ(Tensor::arange(5, -4, -3, {DType::Int32, device()}).read<int>(),
            (std::vector{5, 2, -1}));
  EXPECT_EQ(Tensor::full({2}, 2.5, {DType::Float16, device()}).read<float16>()[1].bits, 0x4100);
  EXPECT_EQ(Tensor::zeros({0, 3}, {DType::Float32, device()}).read<float>().size(), 0u);
  EXPECT_EQ(Tensor::ones({2, 2}).to(device()).sum().item<float>(), 4);
}

}  // namespace
}  // namespace touchstone
