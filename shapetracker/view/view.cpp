#include "touchstone/shapetracker/view/view.h"

#include <algorithm>

#include "touchstone/base/hash.h"
#include "touchstone/shapetracker/view/sint_bounds.h"

namespace touchstone {
namespace {

using shapetracker::decide_le;
using shapetracker::Wide;

bool is(const sint& value, std::int64_t number) {
  return value.is_int() && value.as_int() == number;
}

bool has_zero(std::span<const sint> shape) {
  return std::ranges::any_of(shape, [](const sint& size) { return is(size, 0); });
}

void require_sizes(std::span<const sint> shape) {
  for (const sint& size : shape) {
    const auto what = [&] { return fmt::format("view of shape {}", str(shape)); };
    if (size.is_int() ? size.as_int() < 0 : !decide_le(0, size, what))
      throw ShapeError(what() + ": a size is negative; every size must be at least 0");
  }
}

void require_ranges(const Shape& shape, const Mask& mask) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const sint &begin = mask[i].first, &end = mask[i].second;
    const auto what = [&] {
      return fmt::format("mask ({}, {}) of axis {}", begin.str(), end.str(), i);
    };
    // If variables decide, an end before the begin is an empty range.
    if (!decide_le(0, begin, what) || certainly_lt(end, begin) || !decide_le(end, shape[i], what))
      throw ShapeError(
          fmt::format("{}: must be within [0, {}), the size of the axis, with begin <= end", what(),
                      shape[i].str()));
  }
}

}  // namespace

sint elements(std::span<const sint> shape) {
  if (has_zero(shape)) return 0;
  std::int64_t number = 1;  // product of the sizes before the first symbolic one
  std::size_t i = 0;
  for (; i < shape.size() && shape[i].is_int(); ++i)
    if (__builtin_mul_overflow(number, shape[i].as_int(), &number))
      throw OverflowError(
          fmt::format("shape {} has more elements than 64 bits can count", str(shape)));
  sint product = number;
  for (; i < shape.size(); ++i) product = product * shape[i];
  // Without a least value in 64 bits, the product may exceed them for all values of the variables.
  if (!product.is_int() && !product.min() && certainly_lt(INT64_MAX, product))
    throw OverflowError(fmt::format(
        "shape {} has more elements than 64 bits can count for all values of the variables",
        str(shape)));
  return product;
}

Strides row_major_strides(std::span<const sint> shape) {
  Strides strides(shape.size(), 0);
  if (has_zero(shape)) return strides;
  sint weight = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (is(shape[i], 1)) continue;
    strides[i] = weight;
    weight = weight * shape[i];
  }
  return strides;
}

std::string str(std::span<const sint> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + shape[i].str();
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::vector<std::int64_t> concrete(std::span<const sint> values) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(values.size());
  for (const sint& value : values) numbers.push_back(value.as_int());
  return numbers;
}

View View::contiguous(Shape shape) {
  require_sizes(shape);
  elements(shape);  // throws beyond 64 bits
  Strides strides = row_major_strides(shape);
  if (has_zero(shape)) return trusted(std::move(shape), std::move(strides), 0, std::nullopt);
  View view;  // already canonical
  view.shape_ = std::move(shape);
  view.strides_ = std::move(strides);
  return view;
}

View View::strided(Shape shape, Strides strides, sint offset, std::optional<Mask> mask) {
  if (strides.size() != shape.size() || (mask && mask->size() != shape.size()))
    throw ShapeError(fmt::format("view of shape {}: {} strides{}; give one for each of the {} axes",
                                 touchstone::str(shape), strides.size(),
                                 mask ? fmt::format(" and {} mask ranges", mask->size()) : "",
                                 shape.size()));
  require_sizes(shape);
  if (mask) require_ranges(shape, *mask);
  return trusted(std::move(shape), std::move(strides), std::move(offset), std::move(mask));
}

View View::trusted(Shape shape, Strides strides, sint offset, std::optional<Mask> mask) {
  View view;
  bool empty = has_zero(shape);
  for (std::size_t i = 0; mask && i < shape.size(); ++i)
    empty = empty || certainly_le((*mask)[i].second, (*mask)[i].first);
  if (empty) {
    view.strides_.assign(shape.size(), 0);
    view.mask_ = Mask(shape.size(), Range{0, 0});
    elements(shape);
    view.shape_ = std::move(shape);
    return view;
  }
  bool full = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool one = mask ? certainly_eq((*mask)[i].second - (*mask)[i].first, 1) : is(shape[i], 1);
    if (one && !is(strides[i], 0)) {
      if (mask) offset = offset + (*mask)[i].first * strides[i];
      strides[i] = 0;
    }
    full = full && (!mask || (is((*mask)[i].first, 0) && (*mask)[i].second == shape[i]));
  }
  if (full) mask.reset();
  // Repeats need not be counted: reduces nested in each other repeat their operands along axes that
  // no program walks. `size` throws.
  Shape walked;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (!is(strides[i], 0)) walked.push_back(shape[i]);
  elements(walked);
  view.shape_ = std::move(shape);
  view.strides_ = std::move(strides);
  view.offset_ = std::move(offset);
  view.mask_ = std::move(mask);
  if (!view.is_concrete()) return view;
  if (const auto [low, high] = shapetracker::wide_range(view); low < INT64_MIN || high > INT64_MAX)
    throw OverflowError(fmt::format(
        "view of shape {} with strides {} and offset {}: an address "
        "does not fit in 64 bits",
        touchstone::str(view.shape_), touchstone::str(view.strides_), view.offset_.str()));
  return view;
}

Mask View::ranges() const {
  Mask all;
  for (std::size_t axis = 0; axis < shape_.size(); ++axis) all.push_back(range(axis));
  return all;
}

bool View::is_contiguous() const {
  if (has_zero(shape_)) return true;
  return !mask_ && is(offset_, 0) && strides_ == row_major_strides(shape_);
}

bool View::consecutive() const {
  return has_zero(shape_) || (!mask_ && strides_ == row_major_strides(shape_));
}

std::int64_t View::max_size() const {
  Shape largest;
  for (const sint& size : shape_) {
    const std::optional<std::int64_t> most = size.max();
    if (!most)
      throw ShapeError(
          fmt::format("max_size: the size {} of {} has no largest value in 64 bits; "
                      "give its variables upper bounds",
                      size.str(), touchstone::str(shape_)));
    largest.emplace_back(*most);
  }
  return elements(largest).as_int();
}

bool View::nothing_valid() const {
  // Canonical: one empty range makes them all [0, 0).
  return mask_ && is(mask_->front().first, 0) && is(mask_->front().second, 0);
}

bool View::is_concrete() const {
  bool concrete = true;
  each([&](const sint& value) { concrete = concrete && value.is_int(); });
  return concrete;
}

std::optional<std::int64_t> View::at(std::span<const std::int64_t> index) const {
  if (index.size() != shape_.size())
    throw ShapeError(fmt::format("at: {} indices for a view of shape {}; give one for each axis",
                                 index.size(), touchstone::str(shape_)));
  bool valid = true;
  Wide address = offset_.as_int();
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0 || index[i] >= shape_[i].as_int())
      throw ShapeError(fmt::format("at: index {} of axis {} is outside [0, {})", index[i], i,
                                   shape_[i].as_int()));
    valid = valid && (!mask_ || ((*mask_)[i].first.as_int() <= index[i] &&
                                 index[i] < (*mask_)[i].second.as_int()));
    if (valid) address += static_cast<Wide>(strides_[i].as_int()) * index[i];
  }
  if (!valid) return std::nullopt;
  return static_cast<std::int64_t>(address);
}

View View::bind(const symbolic::Values& values) const {
  View bound = *this;
  each_of(bound, [&](sint& value) { value = shapetracker::bind(value, values); });
  require_sizes(bound.shape_);
  return trusted(std::move(bound.shape_), std::move(bound.strides_), std::move(bound.offset_),
                 std::move(bound.mask_));
}

View View::substitute(const std::map<std::string, symbolic::Node>& replacements) const {
  View view = *this;
  each_of(view, [&](sint& value) { value = shapetracker::substitute(value, replacements); });
  return trusted(std::move(view.shape_), std::move(view.strides_), std::move(view.offset_),
                 std::move(view.mask_));
}

std::string View::str() const {
  std::string text = fmt::format("View({}, strides {}, offset {}", touchstone::str(shape_),
                                 touchstone::str(strides_), offset_.str());
  if (mask_) text += ", mask " + shapetracker::str(*mask_);
  return text + ")";
}

std::uint64_t View::hash() const {
  std::uint64_t seed = hash_mix(hash_mix(0x56696577, shape_.size()), mask_.has_value());
  each([&](const sint& value) { seed = hash_mix(seed, value.hash()); });
  return seed;
}

std::pair<sint, sint> address_range(const View& view) {
  sint low = view.offset(), high = view.offset();
  for (std::size_t i = 0; i < view.shape().size(); ++i) {
    const sint& stride = view.strides()[i];
    if (is(stride, 0)) continue;
    const auto [first, end] = view.range(i);
    const sint last = end - 1;
    // By the sign of the stride if it is known, without comparing the products.
    const bool rising = certainly_le(0, stride), falling = certainly_le(stride, 0);
    const sint a = stride * (falling ? last : first), b = stride * (falling ? first : last);
    if (rising || falling) {
      low = low + a;
      high = high + b;
      continue;
    }
    low = low + shapetracker::smaller(a, b);
    high = high + shapetracker::larger(a, b);
  }
  return {low, high};
}

shapetracker::AxisNumbers shapetracker::axis_of(const View& view, std::size_t axis) {
  const auto [begin, end] = view.range(axis);
  return {view.shape()[axis].as_int(), view.strides()[axis].as_int(), begin.as_int(), end.as_int()};
}

// In 128 bits: each term is below 2^127, and the sum stops beyond 2^100.
std::pair<shapetracker::Wide, shapetracker::Wide> shapetracker::wide_range(const View& view) {
  Wide low = view.offset().as_int(), high = low;
  for (std::size_t i = 0; i < view.shape().size(); ++i) {
    const AxisNumbers axis = axis_of(view, i);
    const Wide stride = axis.stride, limit = static_cast<Wide>(1) << 100;
    low += stride * (stride < 0 ? axis.end - 1 : axis.begin);
    high += stride * (stride < 0 ? axis.begin : axis.end - 1);
    if (low < -limit || high > limit) break;
  }
  return {low, high};
}

}  // namespace touchstone
