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
  condition_ = inputs[0];
  return LazyBuffer::e(Op::Where, {inputs[0], inputs[1], inputs[2]});
}
Gradients Where::backward(const LazyBufferPtr& gradient) {
  const auto zero = LazyBuffer::constant(Scalar::from_int(gradient->dtype(), 0), gradient->shape(),
                                         gradient->device());
  return {nullptr, wants(1) ? LazyBuffer::e(Op::Where, {condition_, gradient, zero}) : nullptr,
          wants(2) ? LazyBuffer::e(Op::Where, {condition_, zero, gradient}) : nullptr};
}

LazyBufferPtr Cast::forward(Inputs inputs) {
  from_ = inputs[0]->dtype();
  return inputs[0]->cast(to_);
}
Gradients Cast::backward(const LazyBufferPtr& gradient) { return {gradient->cast(from_)}; }

LazyBufferPtr Contiguous::forward(Inputs inputs) { return inputs[0]->contiguous(); }
Gradients Contiguous::backward(const LazyBufferPtr& gradient) { return {gradient}; }

LazyBufferPtr CopyTo::forward(Inputs inputs) {
  from_ = inputs[0]->device();
  return inputs[0]->copy_to_device(device_);
}
Gradients CopyTo::backward(const LazyBufferPtr& gradient) {
  return {gradient->copy_to_device(from_)};
}

LazyBufferPtr Sum::forward(Inputs inputs) {
  shape_ = inputs[0]->shape();
  return inputs[0]->r(Op::ReduceSum, axes_);
}
Gradients Sum::backward(const LazyBufferPtr& gradient) { return {gradient->expand(shape_)}; }

LazyBufferPtr Max::forward(Inputs inputs) {
  x_ = inputs[0];
  return out_ = x_->r(Op::ReduceMax, axes_);
}
Gradients Max::backward(const LazyBufferPtr& gradient) {
  const Shape& shape = x_->shape();
  const auto reaches = LazyBuffer::e(Op::CmpEq, {x_, out_->expand(shape)})->cast(x_->dtype());
  const auto ties = reaches->r(Op::ReduceSum, axes_)->expand(shape);
  return {
      LazyBuffer::e(Op::Mul, {LazyBuffer::e(Op::Div, {reaches, ties}), gradient->expand(shape)})};
}

LazyBufferPtr Expand::forward(Inputs inputs) {
  from_ = inputs[0]->shape();
  return inputs[0]->expand(shape_);
}
Gradients Expand::backward(const LazyBufferPtr& gradient) {
  return {gradient->r(Op::ReduceSum, grown_axes(from_, shape_))};
}

LazyBufferPtr Reshape::forward(Inputs inputs) {
  from_ = inputs[0]->shape();
  return inputs[0]->reshape(shape_);
}
Gradients Reshape::backward(const LazyBufferPtr& gradient) { return {gradient->reshape(from_)}; }

LazyBufferPtr Permute::forward(Inputs inputs) { return inputs[0]->permute(order_); }
Gradients Permute::backward(const LazyBufferPtr& gradient) {
  std::vector<int> inverse(order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i)
    inverse[static_cast<std::size_t>(order_[i])] = static_cast<int>(i);
  return {gradient->permute(inverse)};
}

LazyBufferPtr Pad::forward(Inputs inputs) {
  from_ = inputs[0]->shape();
  return inputs[0]->pad(padding_);
}
Gradients Pad::backward(const LazyBufferPtr& gradient) {
  Mask inner;
  for (std::size_t i = 0; i < from_.size(); ++i)
    inner.emplace_back(padding_[i].first, padding_[i].first + from_[i]);
  return {gradient->shrink(inner)};
}

LazyBufferPtr Shrink::forward(Inputs inputs) {
  from_ = inputs[0]->shape();
  return inputs[0]->shrink(keep_);
}
Gradients Shrink::backward(const LazyBufferPtr& gradient) {
  Padding outer;
  for (std::size_t i = 0; i < from_.size(); ++i)
    outer.emplace_back(keep_[i].first, from_[i] - keep_[i].second);
  return {gradient->pad(outer)};
}

LazyBufferPtr Flip::forward(Inputs inputs) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(inputs[0]->rank()), 1);
  for (const int axis : axes_) steps[static_cast<std::size_t>(axis)] = -1;
  return inputs[0]->stride(steps);
}
Gradients Flip::backward(const LazyBufferPtr& gradient) { return {forward({&gradient, 1})}; }

}  // namespace touchstone::mlops
