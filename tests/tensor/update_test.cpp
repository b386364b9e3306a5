// In-place operators, assignment to slices, scopes.
#include "tensor_check.h"
#include "touchstone/tensor/indexing.h"

namespace touchstone {
namespace {

class Update : public OnDevice {};
TOUCHSTONE_ON_DEVICES(Update);

TEST_P(Update, AssigningOperatorsChangeAllHandles) {
  Tensor x = make({1, 2, 3}, {3});
  const Tensor same = x, before = x * 1.0;
  x += make({10}, {1});
  x *= 2;
  x -= make({1, 1, 1}, {3});
  x /= 4;
  expect_near(x, {5.25, 5.75, 6.25});
  expect_near(same, {5.25, 5.75, 6.25});
  expect_near(before, {1, 2, 3});
  Tensor whole = Tensor::from({7, 8});
  whole /= 2;
  EXPECT_EQ(whole.read<std::int32_t>(), (std::vector<std::int32_t>{3, 4}));
  EXPECT_THROW(whole += 0.5, DTypeError);
  EXPECT_THROW(x += make({1, 2, 3, 4, 5, 6}, {2, 3}), ShapeError);
  expect_near(x, {5.25, 5.75, 6.25});
}

TEST_P(Update, WithAGradientTheyAreOrdinarySums) {
  Tensor w = make({3}, {1});
  w.set_requires_grad();
  Tensor total = make({0}, {1});
  for (int i = 1; i <= 3; ++i) total += w * static_cast<double>(i);
  total *= 2;
  total.sum().backward();
  expect_near(*w.grad(), {12});
  EXPECT_THROW(w += 1, Error);
  EXPECT_THROW(w.set({}, 1), Error);
  {
    const NoGrad scope;
    w -= *w.grad() * 0.25;
    EXPECT_TRUE(w.requires_grad());
    w.set_requires_grad();  // no error: still a leaf
  }
  expect_near(w, {0});
}

TEST_P(Update, SetTakesNumbersBroadcastsAndSaysWhatDoesNotFit) {
  Tensor x = make({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor same = x;
  x.set({{.begin = 1}}, make({7, 8, 9}, {3}));
  x.set({{.end = 1}, {.begin = 1}}, 0.5);
  expect_near(same, {1, 0.5, 0.5, 7, 8, 9});
  EXPECT_THROW(x.set({{.end = 1}}, make({1, 2}, {2})), ShapeError);
  EXPECT_THROW(x.set({{.end = 1}}, Tensor::from({1, 2, 3}).to(device())), DTypeError);
  EXPECT_THROW(x.set({{.step = 0}}, 1), ShapeError);
  Tensor scalar = make({4}, {});
  scalar.set({}, 3);
  EXPECT_EQ(scalar.item<double>(), 3);
  Tensor bits = make({-0.0, std::nan("")}, {2});
  bits.set({{.end = 0}}, 1);  // nothing
  EXPECT_TRUE(std::signbit(bits.read<double>()[0]));
}

TEST_P(Update, SetIndexChangesAllHandlesInTheOrderOfThePositions) {
  const auto at = [&](const std::vector<std::int64_t>& places, const Shape& shape) {
    return Tensor::from<std::int64_t>(places, shape, device());
  };
  Tensor x = make(some(6), {2, 3});
  const Tensor same = x;
  set_index(x, {at({1, 0, 1}, {3}), at({2, 2, 2}, {3})}, make({1, 2, 3}, {3}));
  EXPECT_EQ(same.read<double>()[5], 3);  // the last one
  set_index(x, {x > 2}, make({0}, {1}));
  EXPECT_EQ(x.read<double>()[5], 0);
  EXPECT_THROW(set_index(x, {at({0, 1}, {2})}, make({1, 2}, {2})), ShapeError);
  EXPECT_THROW(set_index(x, {0}, Tensor::from({1}).to(device())), DTypeError);
  EXPECT_THROW(set_index(x, {2}, 1), ShapeError);
  EXPECT_THROW(set_index(x, {at({0, 2}, {2})}, 1), ShapeError);
  set_index(x, {at({0, 2}, {2}) * 1}, 1);
  EXPECT_THROW(x.realize(), ShapeError);
  x.assign(make(some(6), {2, 3}));
  x.set_requires_grad();
  EXPECT_THROW(set_index(x, {0}, 1), Error);
  const NoGrad scope;
  set_index(x, {0}, 1);
  EXPECT_EQ(x.read<double>()[2], 1);
}

TEST(Scopes, NoGradAndTrainingNest) {
  register_devices();
  Tensor w = Tensor::from({2.0});
  w.set_requires_grad();
  {
    const NoGrad outer;
    { const NoGrad inner; }
    EXPECT_FALSE((w * 2).requires_grad());
    EXPECT_THROW((w * 2).sum().backward(), Error);
  }
  EXPECT_TRUE((w * 2).requires_grad());
  EXPECT_FALSE(is_training());
  {
    const TrainingScope on;
    EXPECT_TRUE(is_training());
    {
      const TrainingScope off(false);
      EXPECT_FALSE(is_training());
    }
    EXPECT_TRUE(is_training());
  }
  EXPECT_FALSE(is_training());
}

TEST(Scopes, TheDefaultDtypeIsThatOfNewTensors) {
  register_devices();
  EXPECT_EQ(set_default_dtype(DType::Float64), DType::Float32);
  EXPECT_EQ(Tensor::zeros({2}).dtype(), DType::Float64);
  EXPECT_EQ(Tensor::zeros({2}, {.device = "CPU"}).dtype(), DType::Float64);
  EXPECT_EQ(Tensor::arange(0.0, 1.0, 0.5).dtype(), DType::Float64);
  EXPECT_EQ(Tensor::arange(0, 3).dtype(), DType::Int32);
  EXPECT_EQ(set_default_dtype(DType::Float32), DType::Float64);
  EXPECT_EQ(Tensor::zeros({2}).dtype(), DType::Float32);
  EXPECT_THROW(set_default_dtype(DType::Int32), DTypeError);
}

TEST_P(Update, GradientsAreKeptOnRequestAndMayBeGiven) {
  Tensor x = make({1, 2}, {2});
  x.set_requires_grad();
  Tensor inner = x.square();
  inner.retain_grad();
  Tensor silent = inner * 3;
  silent.sum().backward();
  expect_near(*inner.grad(), {3, 3});
  expect_near(*x.grad(), {6, 12});
  EXPECT_FALSE(silent.grad().has_value());
  x.set_grad(make({5, 5}, {2}));
  expect_near(*x.grad(), {5, 5});
  EXPECT_THROW(x.set_grad(make({5}, {1})), ShapeError);
  EXPECT_THROW(make({1}, {1}).retain_grad(), Error);
}

TEST_P(Update, ACloneIsATensorOfItsOwnAndToMovesAllHandles) {
  Tensor x = make({1, 2}, {2});
  Tensor copy = x.clone();
  x += 1;
  expect_near(copy, {1, 2});
  copy.set_requires_grad();
  copy.clone().sum().backward();
  expect_near(*copy.grad(), {1, 1});
  const std::string other = device() == "CPU" ? "CLANG" : "CPU";
  const Tensor same = copy;
  copy.to_(other);
  EXPECT_EQ(same.device(), other);
  EXPECT_EQ(same.grad()->device(), other);
  expect_near(same, {1, 2});
  EXPECT_THROW((copy * 2).to_("CPU"), Error);
}

}  // namespace
}  // namespace touchstone
