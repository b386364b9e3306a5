#include "touchstone/tensor/mlops.h"

#include <algorithm>

namespace touchstone::mlops {
namespace {

std::vector<int> grown_axes(const Shape& from, const Shape& to) {
  std::vector<int> axes;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != to[i]) axes.push_back(static_cast<int>(i));
  return axes;
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

LazyBufferPtr Cast::forward(Inputs inputs) { return inputs[0]->cast(to_); }
Gradients Cast::backward(const BackwardPass& pass) {
  return {pass.gradient.cast(pass.inputs[0].dtype())};
}

LazyBufferPtr Contiguous::forward(Inputs inputs) { return inputs[0]->contiguous(); }
Gradients Contiguous::backward(const BackwardPass& pass) { return {pass.gradient}; }

LazyBufferPtr CopyTo::forward(Inputs inputs) { return inputs[0]->place(device_, axis_); }
Gradients CopyTo::backward(const BackwardPass& pass) {
  const Tensor& x = pass.inputs[0];
  return {touchstone::apply<CopyTo>({pass.gradient}, x.device(), x.shard_axis())};
}

LazyBufferPtr Sum::forward(Inputs inputs) { return inputs[0]->r(Op::ReduceSum, axes_); }
Gradients Sum::backward(const BackwardPass& pass) {
  return {touchstone::apply<Expand>({pass.gradient}, pass.inputs[0].shape())};
}

LazyBufferPtr Max::forward(Inputs inputs) { return inputs[0]->r(Op::ReduceMax, axes_); }
Gradients Max::backward(const BackwardPass& pass) {
  const LazyBufferPtr& x = pass.inputs[0].lazy();
  const Shape& shape = x->shape();
  const auto reaches =
      LazyBuffer::e(Op::CmpEq, {x, pass.out.lazy()->expand(shape)})->cast(x->dtype());
  const auto ties = reaches->r(Op::ReduceSum, axes_)->expand(shape);
  const Tensor share(LazyBuffer::e(Op::Div, {reaches, ties}));
  return {apply(Binary::Mul, share, touchstone::apply<Expand>({pass.gradient}, shape))};
}

// Terms and squares alternate along a first axis, so that one reduce of products makes both sums.
LazyBufferPtr SquaresAroundMean::forward(Inputs inputs) {
  const LazyBufferPtr& x = inputs[0];
  std::int64_t count = 1;
  std::vector<int> axes;
  Mask first;
  for (const sint& size : x->shape()) first.emplace_back(0, size);
  for (const int axis : axes_) {
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
    Mask keep;
    for (const sint& size : sums->shape()) keep.emplace_back(0, size);
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
Gradients SquaresAroundMean::backward(const BackwardPass& pass) {
  const Tensor& x = pass.inputs[0];
  return {(x - x.mean(axes_, KeepDim::Yes)) * (pass.gradient * 2)};
}

LazyBufferPtr Expand::forward(Inputs inputs) { return inputs[0]->expand(shape_); }
Gradients Expand::backward(const BackwardPass& pass) {
  return {touchstone::apply<Sum>({pass.gradient}, grown_axes(pass.inputs[0].shape(), shape_))};
}

LazyBufferPtr Reshape::forward(Inputs inputs) { return inputs[0]->reshape(shape_); }
Gradients Reshape::backward(const BackwardPass& pass) {
  return {touchstone::apply<Reshape>({pass.gradient}, pass.inputs[0].shape())};
}

LazyBufferPtr Permute::forward(Inputs inputs) { return inputs[0]->permute(order_); }
Gradients Permute::backward(const BackwardPass& pass) {
  std::vector<int> inverse(order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i)
    inverse[static_cast<std::size_t>(order_[i])] = static_cast<int>(i);
  return {touchstone::apply<Permute>({pass.gradient}, inverse)};
}

LazyBufferPtr Pad::forward(Inputs inputs) { return inputs[0]->pad(padding_); }
Gradients Pad::backward(const BackwardPass& pass) {
  const Shape& from = pass.inputs[0].shape();
  Mask inner;
  for (std::size_t i = 0; i < from.size(); ++i)
    inner.emplace_back(padding_[i].first, padding_[i].first + from[i]);
  return {touchstone::apply<Shrink>({pass.gradient}, inner)};
}

LazyBufferPtr Shrink::forward(Inputs inputs) { return inputs[0]->shrink(keep_); }
Gradients Shrink::backward(const BackwardPass& pass) {
  const Shape& from = pass.inputs[0].shape();
  Padding outer;
  for (std::size_t i = 0; i < from.size(); ++i)
    outer.emplace_back(keep_[i].first, from[i] - keep_[i].second);
  return {touchstone::apply<Pad>({pass.gradient}, outer)};
}

LazyBufferPtr Flip::forward(Inputs inputs) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(inputs[0]->rank()), 1);
  for (const int axis : axes_) steps[static_cast<std::size_t>(axis)] = -1;
  return inputs[0]->stride(steps);
}
Gradients Flip::backward(const BackwardPass& pass) {
  return {touchstone::apply<Flip>({pass.gradient}, axes_)};
}

}  // namespace touchstone::mlops
