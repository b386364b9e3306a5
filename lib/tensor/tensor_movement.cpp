#include <algorithm>
#include <numeric>

#include "touchstone/lazy/origin.h"
#include "touchstone/tensor/mlops.h"

namespace touchstone {
namespace {

// One slice of an axis: every step-th element of the block [begin, end), from the end if `flip`.
struct Walk {
  std::int64_t begin = 0, end = 0, step = 1;
  bool flip = false;
};

Walk walk_of(const Slice& slice, std::int64_t size) {
  if (slice.step == 0) throw ShapeError("slice: the step is 0; use a positive or negative step");
  // A step longer than the axis selects one element.
  const std::int64_t most = std::max<std::int64_t>(size, 1);
  const std::int64_t step = std::clamp(slice.step, -most, most);
  const bool down = step < 0;
  // As Python's slice.indices: clip positions out of range.
  const std::int64_t lowest = down ? -1 : 0, highest = down ? size - 1 : size;
  const auto place = [&](std::int64_t at) {
    return std::clamp(at < 0 ? at + size : at, lowest, highest);
  };
  const std::int64_t first = slice.begin ? place(*slice.begin) : down ? highest : lowest;
  const std::int64_t last = slice.end ? place(*slice.end) : down ? lowest : highest;
  if (down) return {last + 1, std::max(first, last) + 1, -step, true};
  return {first, std::max(first, last), step, false};
}

bool is_identity(const std::vector<int>& order) {
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<int>(i)) return false;
  return true;
}

// Combines two tensors, each zero where the other has its elements, as their sum would but keeping
// the sign of zeros. `second`: where the second one's elements are.
class Joined final : public Function {
 public:
  explicit Joined(LazyBufferPtr second) : second_(std::move(second)) {}
  LazyBufferPtr forward(std::span<const LazyBufferPtr> inputs) override {
    return LazyBuffer::e(Op::Where, {second_, inputs[1], inputs[0]});
  }
  // The padding around elements drops its gradient.
  Gradients backward(const BackwardPass& pass) override { return {pass.gradient, pass.gradient}; }

 private:
  LazyBufferPtr second_;
};

// Every steps[i]-th element of axis i: pads the axis to whole steps, splits and cuts it.
Tensor take_every(const Tensor& x, const std::vector<std::int64_t>& steps) {
  Padding padding;
  Shape split, taken;
  Mask first;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::int64_t size = x.size(static_cast<int>(i)), count = ceil_div(size, steps[i]);
    padding.emplace_back(0, count * steps[i] - size);
    split.insert(split.end(), {sint(count), sint(steps[i])});
    first.insert(first.end(), {{0, count}, {0, std::min<std::int64_t>(1, steps[i])}});
    taken.emplace_back(count);
  }
  return x.pad(padding).reshape(split).shrink(first).reshape(taken);
}

// The inverse of a slice: puts x back in place, with zeros elsewhere.
Tensor put_back(const Tensor& x, const std::vector<Walk>& walks, const Shape& whole) {
  Padding gaps, around;
  Shape apart, together;
  Mask block;
  std::vector<int> flipped;
  for (std::size_t i = 0; i < walks.size(); ++i) {
    const Walk& walk = walks[i];
    const std::int64_t count = x.size(static_cast<int>(i)), size = walk.end - walk.begin;
    gaps.insert(gaps.end(), {{0, 0}, {0, walk.step - 1}});
    apart.insert(apart.end(), {sint(count), sint(1)});
    together.emplace_back(count * walk.step);
    block.emplace_back(0, size);
    around.emplace_back(walk.begin, whole[i] - walk.end);
    if (walk.flip) flipped.push_back(static_cast<int>(i));
  }
  return x.reshape(apart).pad(gaps).reshape(together).shrink(block).flip(flipped).pad(around);
}

}  // namespace

Tensor Tensor::reshape(Shape wanted) const {
  const auto open = std::ranges::find(wanted, sint(-1));
  if (open != wanted.end()) {
    if (std::ranges::count(wanted, sint(-1)) > 1)
      throw ShapeError(
          fmt::format("reshape: {} has more than one -1; give all sizes but one", str(wanted)));
    *open = 1;
    const sint known = touchstone::elements(wanted), all = touchstone::elements(shape());
    if (known == sint(0) || floor_mod(all, known) != sint(0))
      throw ShapeError(
          fmt::format("reshape: {} elements of shape {} are not a multiple of the {} that the "
                      "sizes other than -1 give; change them",
                      all.str(), str(shape()), known.str()));
    *open = floor_div(all, known);
  }
  return wanted == shape() ? *this : apply<mlops::Reshape>({*this}, std::move(wanted));
}

Tensor Tensor::permute(std::vector<int> order) const {
  order = normal_axes(order);
  if (is_identity(order) && static_cast<int>(order.size()) == rank()) return *this;
  return apply<mlops::Permute>({*this}, std::move(order));
}

Tensor Tensor::transpose(int a, int b) const {
  std::vector<int> order(static_cast<std::size_t>(rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(normal_axis(a))],
            order[static_cast<std::size_t>(normal_axis(b))]);
  return permute(std::move(order));
}

Tensor Tensor::expand(const Shape& wanted) const {
  if (wanted == shape()) return *this;
  if (wanted.size() < shape().size())
    throw ShapeError(fmt::format("expand: shape {} has more axes than {}; squeeze or reshape first",
                                 str(shape()), str(wanted)));
  Shape aligned(wanted.size() - shape().size(), 1);
  aligned.insert(aligned.end(), shape().begin(), shape().end());
  Shape target = wanted;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == sint(-1)) target[i] = aligned[i];
    if (aligned[i] != target[i] && aligned[i] != sint(1))
      throw ShapeError(
          fmt::format("expand: shape {} does not expand to {}: size {} is neither 1 "
                      "nor {}; reshape first",
                      str(shape()), str(wanted), aligned[i].str(), target[i].str()));
  }
  const Tensor x = reshape(std::move(aligned));
  return target == x.shape() ? x : apply<mlops::Expand>({x}, std::move(target));
}

Tensor Tensor::pad(const Padding& padding) const {
  if (std::ranges::all_of(padding,
                          [](const auto& p) { return p == std::pair(sint(0), sint(0)); }) &&
      static_cast<int>(padding.size()) == rank())
    return *this;
  return apply<mlops::Pad>({*this}, padding);
}

Tensor Tensor::shrink(const Mask& keep) const {
  bool whole = static_cast<int>(keep.size()) == rank();
  for (std::size_t i = 0; whole && i < keep.size(); ++i) whole = keep[i] == Range(0, shape()[i]);
  return whole ? *this : apply<mlops::Shrink>({*this}, keep);
}

Tensor Tensor::flip(const std::vector<int>& axes) const {
  return axes.empty() ? *this : apply<mlops::Flip>({*this}, normal_axes(axes));
}

Tensor Tensor::slice(const std::vector<Slice>& slices) const {
  if (static_cast<int>(slices.size()) > rank())
    throw ShapeError(fmt::format("slice: {} slices for shape {} of {} axes; remove some",
                                 slices.size(), str(shape()), rank()));
  Mask keep;
  std::vector<int> flipped;
  std::vector<std::int64_t> steps;
  for (int axis = 0; axis < rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    const Walk walk = walk_of(at < slices.size() ? slices[at] : Slice{}, size(axis));
    keep.emplace_back(walk.begin, walk.end);
    if (walk.flip) flipped.push_back(axis);
    steps.push_back(walk.step);
  }
  const Tensor block = shrink(keep).flip(flipped);
  return std::ranges::all_of(steps, [](std::int64_t s) { return s == 1; })
             ? block
             : take_every(block, steps);
}

Tensor& Tensor::set(const std::vector<Slice>& slices, const Tensor& values) {
  const OriginScope origin("set");
  if (requires_grad() || values.requires_grad()) {
    if (gradients_are_noted())
      throw Error(
          "set: a gradient is required of the tensor or of the values, whose history would be "
          "lost; detach() them, set them in a NoGrad scope, or use where()");
  }
  const Tensor part = slice(slices);
  const Shape& shape = part.shape();
  if (broadcast_shape(values.shape(), shape) != shape)
    throw ShapeError(fmt::format("set: values of shape {} do not fit the {} elements chosen of {}",
                                 str(values.shape()), str(shape), str(this->shape())));
  if (values.dtype() != dtype())
    throw DTypeError(fmt::format("set: the tensor is {}, but the values are {}; cast them",
                                 name(dtype()), name(values.dtype())));
  std::vector<Walk> walks;
  for (int axis = 0; axis < rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    walks.push_back(walk_of(at < slices.size() ? slices[at] : Slice{}, size(axis)));
  }
  const Tensor there = put_back(full(shape, true, {DType::Bool, device()}), walks, this->shape());
  assign(where(there, put_back(values.detach().expand(shape), walks, this->shape()), detach()));
  return *this;
}

Tensor& Tensor::set(const std::vector<Slice>& slices, Number value) {
  const Scalar number = value.as(dtype());
  return set(slices, Tensor(LazyBuffer::constant(number, {}, device())));
}

Tensor Tensor::unsqueeze(int axis) const {
  if (axis < -rank() - 1 || axis > rank())
    throw ShapeError(fmt::format("unsqueeze: axis {} is outside [{}, {}] for shape {}", axis,
                                 -rank() - 1, rank(), str(shape())));
  Shape wider = shape();
  wider.insert(wider.begin() + (axis < 0 ? axis + rank() + 1 : axis), 1);
  return reshape(std::move(wider));
}

Tensor Tensor::squeeze(int axis) const {
  const int at = normal_axis(axis);
  if (shape()[static_cast<std::size_t>(at)] != sint(1)) return *this;
  Shape narrower = shape();
  narrower.erase(narrower.begin() + at);
  return reshape(std::move(narrower));
}

Tensor Tensor::squeeze() const {
  Shape narrower = shape();
  std::erase(narrower, sint(1));
  return reshape(std::move(narrower));
}

Tensor Tensor::flatten(int first) const {
  Shape flat(shape().begin(), shape().begin() + (rank() == 0 ? 0 : normal_axis(first)));
  const std::span<const sint> rest = std::span(shape()).subspan(flat.size());
  flat.push_back(touchstone::elements(rest));
  return reshape(std::move(flat));
}

Tensor Tensor::cat(const std::vector<Tensor>& parts, int axis) {
  if (parts.empty()) throw ShapeError("cat: no tensors given; give at least one");
  const int at = parts[0].normal_axis(axis);
  const auto index = static_cast<std::size_t>(at);
  sint total = 0;
  for (const Tensor& part : parts) {
    Shape other = part.shape();
    if (other.size() == parts[0].shape().size()) other[index] = parts[0].shape()[index];
    if (other != parts[0].shape())
      throw ShapeError(fmt::format(
          "cat: shapes {} and {} differ on an axis other than {}; make them equal there",
          str(parts[0].shape()), str(part.shape()), at));
    total = total + part.shape()[index];
  }
  // Pads each part to the whole. Integers are added up, as padding is exactly zero.
  std::optional<Tensor> whole;
  sint before = 0;
  for (const Tensor& part : parts) {
    Padding padding(part.shape().size(), {0, 0});
    const sint after = before + part.shape()[index];
    padding[index] = {before, total - after};
    before = after;
    const Tensor padded = part.pad(padding);
    if (!whole)
      whole = padded;
    else if (!is_float(padded.dtype()) || padded.dtype() != whole->dtype())
      whole = *whole + padded;
    else
      whole = touchstone::apply<Joined>(
          {*whole, padded},
          full(part.shape(), true, {DType::Bool, part.device()}).pad(padding).lazy());
  }
  return *whole;
}

Tensor Tensor::stack(const std::vector<Tensor>& parts, int axis) {
  std::vector<Tensor> taller;
  for (const Tensor& part : parts) taller.push_back(part.unsqueeze(axis));
  return cat(taller, axis);
}

}  // namespace touchstone
