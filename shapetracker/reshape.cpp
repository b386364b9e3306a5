#include <algorithm>

#include "touchstone/shapetracker/sint_bounds.h"
#include "touchstone/shapetracker/view.h"

namespace touchstone {
namespace {

bool is_one(const sint& size) { return certainly_eq(size, 1); }

// The sizes other than 1 agree one by one.
bool differ_in_ones_only(const Shape& a, const Shape& b) {
  auto x = a.begin(), y = b.begin();
  while (true) {
    x = std::find_if_not(x, a.end(), is_one);
    y = std::find_if_not(y, b.end(), is_one);
    if (x == a.end() || y == b.end()) return x == a.end() && y == b.end();
    if (!certainly_eq(*x++, *y++)) return false;
  }
}

}  // namespace

std::optional<View> View::reshape(const Shape& shape) const {
  const View target = contiguous(shape);
  const sint have = size(), want = target.size();
  if (!certainly_eq(have, want)) {
    if (certainly_lt(have, want) || certainly_lt(want, have) || (have.is_int() && want.is_int()))
      throw ShapeError(
          fmt::format("reshape: {} holds {} elements, {} holds {}; sizes must agree "
                      "(pad or shrink first)",
                      touchstone::str(shape_), have.str(), touchstone::str(shape), want.str()));
    throw ShapeError(
        fmt::format("reshape: whether {} ({} elements) and {} ({}) hold equally many "
                    "depends on the variables; bind them first",
                    touchstone::str(shape_), have.str(), touchstone::str(shape), want.str()));
  }
  if (shape == shape_) return *this;
  if (is_contiguous()) return target;
  if (!differ_in_ones_only(shape_, shape)) return merge(*this, target);
  if (nothing_valid() && shape.empty()) return std::nullopt;  // rank 0 cannot be masked
  Strides strides(shape.size(), 0);
  std::optional<Mask> mask;
  if (mask_) {
    mask.emplace();
    for (const sint& size : shape) mask->emplace_back(0, nothing_valid() ? sint(0) : size);
  }
  for (std::size_t from = 0, to = 0; from < shape_.size() && !nothing_valid(); ++from, ++to) {
    while (from < shape_.size() && is_one(shape_[from])) ++from;
    if (from == shape_.size()) break;
    while (is_one(shape[to])) ++to;
    strides[to] = strides_[from];
    if (mask) (*mask)[to] = (*mask_)[from];
  }
  return canonical(shape, std::move(strides), offset_, std::move(mask));
}

}  // namespace touchstone
