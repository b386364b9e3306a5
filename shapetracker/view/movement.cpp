#include <algorithm>

#include "touchstone/shapetracker/view/flat_view.h"
#include "touchstone/shapetracker/view/sint_bounds.h"
#include "touchstone/shapetracker/view/view.h"

namespace touchstone {
namespace {

using shapetracker::decide_le;

void require_rank(const char* op, std::size_t given, const Shape& shape) {
  if (given != shape.size())
    throw ShapeError(fmt::format("{}: {} entries for shape {}; give one for each of its {} axes",
                                 op, given, str(shape), shape.size()));
}

}  // namespace

View View::permute(std::span<const int> order) const {
  require_rank("permute", order.size(), shape_);
  std::vector<bool> seen(order.size(), false);
  View view;
  view.offset_ = offset_;
  if (mask_) view.mask_.emplace();
  for (const int axis : order) {
    if (axis < 0 || axis >= rank() || seen[static_cast<std::size_t>(axis)])
      throw ShapeError(fmt::format(
          "permute: ({}) is not a permutation of {} axes; each of 0 to {} must occur once",
          fmt::join(order, ", "), rank(), rank() - 1));
    const auto from = static_cast<std::size_t>(axis);
    seen[from] = true;
    view.shape_.push_back(shape_[from]);
    view.strides_.push_back(strides_[from]);
    if (mask_) view.mask_->push_back((*mask_)[from]);
  }
  return view;
}

View View::expand(const Shape& shape) const {
  require_rank("expand", shape.size(), shape_);
  std::optional<Mask> mask = mask_;
  Strides strides = strides_;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto what = [&] {
      return fmt::format("expand: {} to {}, axis {}", touchstone::str(shape_),
                         touchstone::str(shape), i);
    };
    if (!decide_le(0, shape[i], what)) throw ShapeError(what() + ": a size is negative");
    if (certainly_eq(shape_[i], shape[i])) continue;
    if (!certainly_eq(shape_[i], 1))
      throw ShapeError(what() + ": only an axis of size 1 can grow (reshape first)");
    strides[i] = 0;
    // The only index is valid iff begin <= 0 < end: then all indices are, otherwise none. If
    // variables decide, scaling the ends with the axis preserves an empty range.
    if (mask && !nothing_valid())
      (*mask)[i] = {(*mask)[i].first * shape[i], (*mask)[i].second * shape[i]};
  }
  return trusted(shape, std::move(strides), offset_, std::move(mask));
}

View View::pad(const Padding& padding) const {
  require_rank("pad", padding.size(), shape_);
  Shape shape = shape_;
  Mask mask = ranges();
  sint offset = offset_;
  for (std::size_t i = 0; i < padding.size(); ++i) {
    const sint &before = padding[i].first, &after = padding[i].second;
    const auto what = [&] {
      return fmt::format("pad: ({}, {}) on axis {} of {}", before.str(), after.str(), i,
                         touchstone::str(shape_));
    };
    if (!decide_le(0, before, what) || !decide_le(0, after, what))
      throw ShapeError(what() + ": padding must not be negative (shrink cuts elements off)");
    shape[i] = shape[i] + before + after;
    if (nothing_valid()) continue;
    offset = offset - before * strides_[i];
    mask[i] = {mask[i].first + before, mask[i].second + before};
  }
  return trusted(std::move(shape), strides_, std::move(offset), std::move(mask));
}

View View::shrink(const Mask& keep) const {
  require_rank("shrink", keep.size(), shape_);
  Shape shape = shape_;
  std::optional<Mask> mask = mask_;
  sint offset = offset_;
  for (std::size_t i = 0; i < keep.size(); ++i) {
    const sint &begin = keep[i].first, &end = keep[i].second;
    const auto what = [&] {
      return fmt::format("shrink: ({}, {}) on axis {} of {}", begin.str(), end.str(), i,
                         touchstone::str(shape_));
    };
    if (!decide_le(0, begin, what) || !decide_le(begin, end, what) ||
        !decide_le(end, shape_[i], what))
      throw ShapeError(what() + ": must satisfy 0 <= begin <= end <= size (pad adds elements)");
    shape[i] = end - begin;
    offset = offset + begin * strides_[i];
    if (mask && !nothing_valid()) {
      auto& range = (*mask)[i];
      range = {shapetracker::larger(range.first, begin) - begin,
               shapetracker::smaller(range.second, end) - begin};
    }
  }
  return trusted(std::move(shape), strides_, std::move(offset), std::move(mask));
}

View View::stride(std::span<const std::int64_t> steps) const {
  require_rank("stride", steps.size(), shape_);
  Shape shape = shape_;
  Strides strides = strides_;
  sint offset = offset_;
  std::optional<Mask> mask = mask_;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] == 0 || steps[i] == INT64_MIN)
      throw ShapeError(
          fmt::format("stride: step {} on axis {} of {}; a step must not be 0 and its "
                      "negative must fit in 64 bits",
                      steps[i], i, touchstone::str(shape_)));
    const sint step = std::abs(steps[i]);
    const auto ceil = [&](const sint& value) { return floor_div(value - 1, step) + 1; };
    shape[i] = ceil(shape_[i]);
    if (nothing_valid()) continue;
    // With one element left the stride is free, and the product might overflow.
    strides[i] = certainly_eq(shape[i], 1) ? sint(0) : strides_[i] * sint(steps[i]);
    if (steps[i] < 0) {
      offset = offset + (shape_[i] - 1) * strides_[i];
      if (mask) (*mask)[i] = {shape_[i] - (*mask)[i].second, shape_[i] - (*mask)[i].first};
    }
    if (mask) (*mask)[i] = {ceil((*mask)[i].first), ceil((*mask)[i].second)};
  }
  return trusted(std::move(shape), std::move(strides), std::move(offset), std::move(mask));
}

View View::flip(std::span<const int> axes) const {
  std::vector<std::int64_t> steps(shape_.size(), 1);
  for (const int axis : axes) {
    if (axis < 0 || axis >= rank() || steps[static_cast<std::size_t>(axis)] < 0)
      throw ShapeError(fmt::format("flip: ({}) of shape {}; give axes of 0 to {}, each once",
                                   fmt::join(axes, ", "), touchstone::str(shape_), rank() - 1));
    steps[static_cast<std::size_t>(axis)] = -1;
  }
  return stride(steps);
}

View View::minify() const {
  if (nothing_valid()) return trusted({size()}, {0}, 0, Mask{{0, 0}});
  auto [digits, offset] = shapetracker::join_digits(*this);
  View view;
  Mask mask;
  for (; !digits.empty(); digits.pop_back()) {
    const shapetracker::Digit& digit = digits.back();
    view.shape_.push_back(digit.size);
    view.strides_.push_back(digit.stride);
    mask.emplace_back(digit.begin, digit.end);
  }
  view =
      trusted(std::move(view.shape_), std::move(view.strides_), std::move(offset), std::move(mask));
  // An axis that joining left with one valid index can be joined again: its stride is now free.
  return view.rank() < rank() ? view.minify() : view;
}

}  // namespace touchstone
