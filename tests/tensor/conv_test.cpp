#include <gtest/gtest.h>

#include "tensor_check.h"

namespace touchstone {
namespace {

class Conv : public OnDevice {};
TOUCHSTONE_ON_DEVICES(Conv);

TEST_P(Conv, AddsABiasPerChannel) {
  const Tensor x = make(Doubles(9, 1), {1, 1, 3, 3}), w = make(Doubles(8, 1), {2, 1, 2, 2});
  expect_near(conv2d(x, w, make({10, 20}, {2})), {14, 14, 14, 14, 24, 24, 24, 24});
  EXPECT_THROW(conv2d(x, w, make({10}, {1})), ShapeError);
  EXPECT_THROW(conv2d(x, make(Doubles(32, 1), {2, 1, 4, 4})), ShapeError);
}

}  // namespace
}  // namespace touchstone
