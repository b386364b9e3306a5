// Movement operations built on those of tensor_movement.cpp.
#include <algorithm>
#include <limits>
#include <numeric>

#include "touchstone/lazy/origin.h"
#include "touchstone/tensor/tensor.h"
#include "touchstone/tensor/windows.h"

namespace touchstone {
namespace {

// True where row - column + k >= 0 in the last two axes.
Tensor on_or_below(const Tensor& x, std::int64_t k) {
  if (x.rank() < 2)
    throw ShapeError(
        fmt::format("triu, tril: shape {} has no rows and columns; unsqueeze it", str(x.shape())));
  const auto size = [&](int axis) {
    return x.shape()[static_cast<std::size_t>(x.normal_axis(axis))];
  };
  const auto most = [&](int axis) { return max_elements({size(axis)}); };
  k = std::clamp(k, -most(-2) - 1, most(-1) + 1);  // clamped to the outermost diagonals
  const auto positions = [&](int axis) {
    const Tensor all = Tensor::arange(0, most(axis), 1, {DType::Int64, x.device()});
    return all.narrow(0, 0, size(axis));
  };
  const Tensor rows = positions(-2).unsqueeze(-1), columns = positions(-1);
  return columns <= rows + k;
}

// Pads one axis with its own elements.
Tensor pad_axis(const Tensor& x, int axis, std::int64_t before, std::int64_t after, PadMode mode) {
  const std::int64_t size = x.size(axis), most = std::max(before, after);
  const std::int64_t limit = mode == PadMode::Reflect    ? size - 1
                             : mode == PadMode::Circular ? size
                             : size == 0                 ? 0
                                                         : most;
  if (before < 0 || after < 0 || most > limit)
    throw ShapeError(fmt::format(
        "pad: {} elements before and {} after axis {} of shape {}: this mode has {} to give on "
        "each side; pad less or with a constant",
        before, after, axis, str(x.shape()), limit));
  const auto mirrored = [&](std::int64_t begin, std::int64_t count) {
    return x.narrow(axis, begin, count).flip({axis});
  };
  const auto repeated = [&](std::int64_t at, std::int64_t count) {
    Shape wide = x.shape();
    wide[static_cast<std::size_t>(axis)] = count;
    return x.narrow(axis, at, 1).expand(wide);
  };
  std::vector<Tensor> parts;
  if (before > 0)
    parts.push_back(mode == PadMode::Reflect    ? mirrored(1, before)
                    : mode == PadMode::Circular ? x.narrow(axis, size - before, before)
                                                : repeated(0, before));
  parts.push_back(x);
  if (after > 0)
    parts.push_back(mode == PadMode::Reflect    ? mirrored(size - 1 - after, after)
                    : mode == PadMode::Circular ? x.narrow(axis, 0, after)
                                                : repeated(size - 1, after));
  return Tensor::cat(parts, axis);
}

}  // namespace

Tensor Tensor::movedim(int from, int to) const {
  const int source = normal_axis(from), target = normal_axis(to);
  std::vector<int> order(static_cast<std::size_t>(rank()));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + source);
  order.insert(order.begin() + target, source);
  return permute(std::move(order));
}

Tensor Tensor::pad(const Padding& padding, PadMode mode, Number value) const {
  const OriginScope origin("pad");
  if (static_cast<int>(padding.size()) != rank())
    throw ShapeError(fmt::format("pad: {} pairs for shape {} of {} axes; give one pair per axis",
                                 padding.size(), str(shape()), rank()));
  if (mode == PadMode::Constant) {
    const Tensor padded = pad(padding);
    const Scalar around = value.as(dtype());
    if (around == Scalar::from_int(dtype(), 0) || padded.shape() == shape()) return padded;
    const Tensor inside = full(shape(), true, {DType::Bool, device()}).pad(padding);
    return where(inside, padded, full_like(padded, value));
  }
  Tensor x = *this;
  for (int axis = 0; axis < rank(); ++axis) {
    const auto& [before, after] = padding[static_cast<std::size_t>(axis)];
    if (before != sint(0) || after != sint(0))
      x = pad_axis(x, axis, before.as_int(), after.as_int(), mode);
  }
  return x;
}

Tensor Tensor::pad2d(const std::vector<std::int64_t>& padding, Number value) const {
  const OriginScope origin("pad2d");
  const std::size_t axes = padding.size() / 2;
  if (padding.size() % 2 != 0 || axes > shape().size())
    throw ShapeError(
        fmt::format("pad2d: ({}) for shape {}; give two numbers per axis, of the last axis first",
                    fmt::join(padding, ", "), str(shape())));
  Mask keep = whole_mask(shape());
  Padding more(shape().size(), {0, 0});
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t axis = shape().size() - 1 - i;
    const std::int64_t before = padding[2 * i], after = padding[2 * i + 1],
                       size = this->size(static_cast<int>(axis));
    const std::int64_t begin = before < 0 ? -before : 0, end = after < 0 ? size + after : size;
    if (begin > end)
      throw ShapeError(fmt::format(
          "pad2d: {} and {} remove more than the {} elements of axis {} of shape {}; remove less",
          before, after, size, axis, str(shape())));
    keep[axis] = {begin, end};
    more[axis] = {std::max<std::int64_t>(before, 0), std::max<std::int64_t>(after, 0)};
  }
  return shrink(keep).pad(more, PadMode::Constant, value);
}

Tensor Tensor::unflatten(int axis, const Shape& sizes) const {
  const auto at = static_cast<std::ptrdiff_t>(normal_axis(axis));
  Shape wanted = shape();
  wanted.erase(wanted.begin() + at);
  wanted.insert(wanted.begin() + at, sizes.begin(), sizes.end());
  return reshape(std::move(wanted));
}

Tensor Tensor::narrow(int axis, const sint& begin, const sint& size) const {
  const auto at = static_cast<std::size_t>(normal_axis(axis));
  if (!certainly_le(0, begin) || !certainly_le(0, size) || !certainly_le(begin, shape()[at] - size))
    throw ShapeError(fmt::format("narrow: elements {} to {} are outside axis {} of shape {}",
                                 begin.str(), (begin + size).str(), axis, str(shape())));
  Mask keep = whole_mask(shape());
  keep[at] = {begin, begin + size};
  return shrink(keep);
}

std::vector<Tensor> Tensor::split(const std::vector<std::int64_t>& sizes, int axis) const {
  const OriginScope origin("split");
  const int at = normal_axis(axis);
  std::int64_t total = 0;
  for (const std::int64_t s : sizes) total = s < 0 ? -1 : total < 0 ? total : checked_add(total, s);
  if (total != size(at))
    throw ShapeError(
        fmt::format("split: the sizes {} do not add up to {}, the size of axis {} of shape {}",
                    fmt::join(sizes, " + "), size(at), axis, str(shape())));
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (const std::int64_t s : sizes) {
    parts.push_back(narrow(at, begin, s));
    begin += s;
  }
  return parts;
}

std::vector<Tensor> Tensor::split(std::int64_t size, int axis) const {
  const OriginScope origin("split");
  const std::int64_t whole_size = this->size(axis);
  if (size < 1) throw ShapeError(fmt::format("split: parts of {} elements; use 1 or more", size));
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = whole_size; left > 0; left -= size)
    sizes.push_back(std::min(left, size));
  if (sizes.empty()) sizes.push_back(0);
  return split(sizes, axis);
}

std::vector<Tensor> Tensor::chunk(std::int64_t count, int axis) const {
  if (count < 1) throw ShapeError(fmt::format("chunk: {} parts; use 1 or more", count));
  return split(std::max<std::int64_t>(1, ceil_div(size(axis), count)), axis);
}

Tensor Tensor::repeat(const std::vector<std::int64_t>& times) const {
  const OriginScope origin("repeat");
  if (static_cast<int>(times.size()) < rank() ||
      std::ranges::any_of(times, [](std::int64_t t) { return t < 0; }))
    throw ShapeError(fmt::format("repeat: ({}) for shape {}; give one number of 0 or more per axis",
                                 fmt::join(times, ", "), str(shape())));
  if (static_cast<int>(times.size()) > rank()) {
    Shape taller(times.size() - shape().size(), 1);
    taller.insert(taller.end(), shape().begin(), shape().end());
    return reshape(std::move(taller)).repeat(times);
  }
  Shape apart, wide, together;
  for (std::size_t i = 0; i < times.size(); ++i) {
    apart.insert(apart.end(), {1, shape()[i]});
    wide.insert(wide.end(), {times[i], shape()[i]});
    together.push_back(shape()[i] * times[i]);
  }
  return reshape(apart).expand(wide).reshape(together);
}

Tensor Tensor::repeat_interleave(std::int64_t times, int axis) const {
  const OriginScope origin("repeat_interleave");
  const int at = normal_axis(axis);
  if (times < 0) throw ShapeError(fmt::format("repeat_interleave: {} times; use 0 or more", times));
  const Tensor apart = unsqueeze(at + 1);
  Shape wide = apart.shape(), together = shape();
  wide[static_cast<std::size_t>(at) + 1] = times;
  together[static_cast<std::size_t>(at)] = shape()[static_cast<std::size_t>(at)] * times;
  return apart.expand(wide).reshape(together);
}

Tensor Tensor::roll(std::int64_t by, int axis) const {
  const OriginScope origin("roll");
  const int at = normal_axis(axis);
  const std::int64_t count = size(at);
  if (count == 0) return *this;
  const std::int64_t shift = ((by % count) + count) % count;
  return shift == 0 ? *this
                    : cat({narrow(at, count - shift, shift), narrow(at, 0, count - shift)}, at);
}

Tensor Tensor::unfold(int axis, std::int64_t size, std::int64_t step) const {
  const int at = normal_axis(axis);
  const auto index = static_cast<std::size_t>(at);
  const Tensor seen = windows(*this, index, window_of("unfold", *this, index, size, step, 1));
  return seen.movedim(at + 1, -1);
}

Tensor Tensor::tril(std::int64_t k) const {
  const OriginScope origin("tril");
  return where(on_or_below(*this, k), *this, zeros_like(*this));
}
Tensor Tensor::triu(std::int64_t k) const {
  const OriginScope origin("triu");
  return where(on_or_below(*this, std::max(k, std::numeric_limits<std::int64_t>::min() + 1) - 1),
               zeros_like(*this), *this);
}

Tensor Tensor::diagonal(int a, int b) const {
  const OriginScope origin("diagonal");
  const int first = normal_axis(a), second = normal_axis(b);
  if (first == second)
    throw ShapeError(
        fmt::format("diagonal: axes {} and {} of shape {} are the same", a, b, str(shape())));
  const Tensor x = movedim(first, -1).movedim(second - (first < second ? 1 : 0), -1);
  const std::int64_t size = std::min(x.size(-1), x.size(-2));
  // Rows of size + 1: the reshape puts element (i, i) first in row i.
  Tensor square = x.narrow(-1, 0, size).narrow(-2, 0, size).flatten(rank() - 2);
  if (size == 0) return square;
  Padding padding(square.shape().size(), {0, 0});
  padding.back().second = size;
  return square.pad(padding).unflatten(-1, {size, size + 1}).narrow(-1, 0, 1).squeeze(-1);
}

}  // namespace touchstone
