#include "touchstone/tensor/mlops.h"

#include <algorithm>

namespace touchstone::mlops {
namespace {

using P = const LazyBufferPtr&;
using Pass = const BackwardPass&;

std::vector<int> grown_axes(const Shape& from, const Shape& to) {
  std::vector<int> axes;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != to[i]) axes.push_back(static_cast<int>(i));
  return axes;
}

// Terms and squares alternate along a first axis, so that one reduce of products makes both sums.
LazyBufferPtr squares_around_mean(P x, const Axes& over) {
  std::int64_t count = 1;
  std::vector<int> axes;
  Mask first = whole_mask(x->shape());
  for (const int axis : over) {
    axes.push_back(axis + 1);
    count *= x->shape()[static_cast<std::size_t>(axis)].as_int();
    first[static_cast<std::size_t>(axis)].second = 1;
  }
  const LazyBufferPtr wide = x->cast(DType::Float64);
  Shape one = x->shape();
  one.insert(one.begin(), 1);
  Shape two = one, scalar(one.size(), 1);
  two[0] = 2;
  Padding behind(one.size(), {0, 0});
  behind[0] = {1, 0};
  const LazyBufferPtr term = LazyBuffer::e(Op::Sub, {wide, wide->shrink(first)->expand(x->shape())})
                                 ->reshape(one)
                                 ->expand(two);
  const LazyBufferPtr squared =
      LazyBuffer::constant(Scalar::from_int(DType::Bool, 1), scalar, x->device())
          ->pad(behind)
          ->expand(two);
  const auto number = [&](double value, const Shape& shape) {
    return LazyBuffer::constant(Scalar::from_double(DType::Float64, value), shape, x->device());
  };
  const LazyBufferPtr sums =
      LazyBuffer::e(Op::Mul, {term, LazyBuffer::e(Op::Where, {squared, term, number(1, two)})})
          ->r(Op::ReduceSum, axes);
  const auto nth = [&](std::int64_t i) {
    Mask keep = whole_mask(sums->shape());
    keep[0] = {i, i + 1};
    Shape shape = sums->shape();
    shape.erase(shape.begin());
    return sums->shrink(keep)->reshape(shape);
  };
  const LazyBufferPtr sum = nth(0), squares = nth(1);
  const LazyBufferPtr of_mean = LazyBuffer::e(
      Op::Div,
      {LazyBuffer::e(Op::Mul, {sum, sum}), number(static_cast<double>(count), sum->shape())});
  const LazyBufferPtr left = LazyBuffer::e(Op::Sub, {squares, of_mean});
  return LazyBuffer::e(Op::Max, {left, number(0, sum->shape())})->cast(x->dtype());
}

LazyBufferPtr reversed(P x, const Axes& axes) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(x->rank()), 1);
  for (const int axis : axes) steps[static_cast<std::size_t>(axis)] = -1;
  return x->stride(steps);
}

Tensor gradient_of_max(const BackwardPass& pass, const Axes& axes) {
  const LazyBufferPtr& x = pass.inputs[0].lazy();
  const Shape& shape = x->shape();
  const auto reaches =
      LazyBuffer::e(Op::CmpEq, {x, pass.out.lazy()->expand(shape)})->cast(x->dtype());
  const auto ties = reaches->r(Op::ReduceSum, axes)->expand(shape);
  const Tensor share(LazyBuffer::e(Op::Div, {reaches, ties}));
  return apply(Binary::Mul, share, touchstone::apply<Expand>({pass.gradient}, shape));
}

Tensor gradient_of_permute(const BackwardPass& pass, const Axes& order) {
  Axes inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  return touchstone::apply<Permute>({pass.gradient}, inverse);
}

Tensor gradient_of_pad(const BackwardPass& pass, const Padding& padding) {
  const Shape& from = pass.inputs[0].shape();
  Mask inner;
  for (std::size_t i = 0; i < from.size(); ++i)
    inner.emplace_back(padding[i].first, padding[i].first + from[i]);
  return touchstone::apply<Shrink>({pass.gradient}, inner);
}

Tensor gradient_of_shrink(const BackwardPass& pass, const Mask& keep) {
  const Shape& from = pass.inputs[0].shape();
  Padding outer;
  for (std::size_t i = 0; i < from.size(); ++i)
    outer.emplace_back(keep[i].first, from[i] - keep[i].second);
  return touchstone::apply<Pad>({pass.gradient}, outer);
}

}  // namespace

LazyBufferPtr Where::forward(Inputs inputs) {
  return LazyBuffer::e(Op::Where, {inputs[0], inputs[1], inputs[2]});
}
Gradients Where::backward(const BackwardPass& pass) {
  const Tensor &condition = pass.inputs[0], &g = pass.gradient;
  const Tensor zero = Tensor::zeros(g.shape(), {g.dtype(), g.device()});
  return {std::nullopt,
          wants(1) ? std::optional(touchstone::apply<Where>({condition, g, zero})) : std::nullopt,
          wants(2) ? std::optional(touchstone::apply<Where>({condition, zero, g})) : std::nullopt};
}

LazyBufferPtr Contiguous::forward(Inputs inputs) { return inputs[0]->contiguous(); }
Gradients Contiguous::backward(const BackwardPass& pass) { return {pass.gradient}; }

LazyBufferPtr CopyTo::forward(Inputs inputs) { return inputs[0]->place(device_, axis_); }
Gradients CopyTo::backward(const BackwardPass& pass) {
  const Tensor& x = pass.inputs[0];
  return {touchstone::apply<CopyTo>({pass.gradient}, x.device(), x.shard_axis())};
}

constinit const StepRule<DType> cast_rule{
    [](P x, const DType& to) { return x->cast(to); },
    [](Pass pass, const DType&) { return pass.gradient.cast(pass.inputs[0].dtype()); }};
constinit const StepRule<Axes> sum_rule{
    [](P x, const Axes& axes) { return x->r(Op::ReduceSum, axes); },
    [](Pass pass, const Axes&) {
      return touchstone::apply<Expand>({pass.gradient}, pass.inputs[0].shape());
    }};
constinit const StepRule<Axes> max_rule{
    [](P x, const Axes& axes) { return x->r(Op::ReduceMax, axes); }, gradient_of_max};
constinit const StepRule<Axes> squares_rule{squares_around_mean, [](Pass pass, const Axes& axes) {
                                              const Tensor& x = pass.inputs[0];
                                              return (x - x.mean(axes, KeepDim::Yes)) *
                                                     (pass.gradient * 2);
                                            }};
constinit const StepRule<Shape> expand_rule{
    [](P x, const Shape& shape) { return x->expand(shape); },
    [](Pass pass, const Shape& shape) {
      return touchstone::apply<Sum>({pass.gradient}, grown_axes(pass.inputs[0].shape(), shape));
    }};
constinit const StepRule<Shape> reshape_rule{
    [](P x, const Shape& shape) { return x->reshape(shape); },
    [](Pass pass, const Shape&) {
      return touchstone::apply<Reshape>({pass.gradient}, pass.inputs[0].shape());
    }};
constinit const StepRule<Axes> permute_rule{
    [](P x, const Axes& order) { return x->permute(order); }, gradient_of_permute};
constinit const StepRule<Padding> pad_rule{
    [](P x, const Padding& padding) { return x->pad(padding); }, gradient_of_pad};
constinit const StepRule<Mask> shrink_rule{[](P x, const Mask& keep) { return x->shrink(keep); },
                                           gradient_of_shrink};
constinit const StepRule<Axes> flip_rule{reversed, [](Pass pass, const Axes& axes) {
                                           return touchstone::apply<Flip>({pass.gradient}, axes);
                                         }};

}  // namespace touchstone::mlops
