#include "touchstone/shapetracker/view/reshape.h"

#include <algorithm>
#include <iterator>

#include "touchstone/shapetracker/view/sint_bounds.h"
#include "touchstone/shapetracker/view/view.h"

namespace touchstone {
namespace {

bool is_one(const sint& size) { return certainly_eq(size, 1); }

bool same_but_for_ones(const Shape& a, const Shape& b) {
  const auto rest = [](const Shape& shape, std::size_t& i) {
    while (i < shape.size() && is_one(shape[i])) ++i;
    return i < shape.size();
  };
  for (std::size_t i = 0, j = 0;; ++i, ++j) {
    const bool more = rest(a, i);
    if (more != rest(b, j)) return false;
    if (!more) return true;
    if (a[i] != b[j]) return false;
  }
}

Shape without_ones(const Shape& shape) {
  Shape rest;
  std::ranges::remove_copy_if(shape, std::back_inserter(rest), is_one);
  return rest;
}

/// Adjacent axes of the old and the new shape with the same elements.
struct Group {
  std::size_t old_begin, old_end, new_begin, new_end;
};

// Chooses to take one more old axis (true) or new axis (false) to equalize unequal products.
std::optional<bool> take_old(const sint& have, const sint& want) {
  if (certainly_le(have, want)) return true;
  if (certainly_le(want, have)) return false;
  if (have.max() == want.max()) return std::nullopt;
  return want.max() == std::nullopt || (have.max() && *have.max() < *want.max());
}

// The groups from the last axis on; nullopt if the bounds do not show any. No size is 1.
std::optional<std::vector<Group>> find_groups(const Shape& from, const Shape& to) {
  std::vector<Group> groups;
  std::size_t i = from.size(), j = to.size();
  while (i > 0 || j > 0) {
    Group group{i, i, j, j};
    sint have = 1, want = 1;
    do {
      const bool first = i == group.old_end && j == group.new_end;
      const std::optional<bool> old = first ? true : take_old(have, want);
      if (!old || (*old ? i : j) == 0) return std::nullopt;
      if (*old)
        have = have * from[--i];
      else
        want = want * to[--j];
    } while (!certainly_eq(have, want));
    group.old_begin = i;
    group.new_begin = j;
    groups.push_back(group);
  }
  return groups;
}

}  // namespace

namespace shapetracker {

std::optional<View> reshape_row_major(const View& group, const Shape& shape) {
  if (group.shape() == shape) return group;
  if (group.mask() || group.shape().empty()) return std::nullopt;
  const sint unit = group.strides().back();
  Strides wanted = row_major_strides(group.shape()), strides = row_major_strides(shape);
  try {
    for (sint& stride : wanted) stride = stride * unit;
    if (wanted != group.strides()) return std::nullopt;
    for (sint& stride : strides) stride = stride * unit;
  } catch (const OverflowError&) {  // then these are not the strides of the group
    return std::nullopt;
  }
  return View::trusted(shape, std::move(strides), 0, std::nullopt);
}

}  // namespace shapetracker

namespace {

// Axes [begin, end) of a list.
template <typename List>
List part(const List& list, std::size_t begin, std::size_t end) {
  return List(list.begin() + static_cast<std::ptrdiff_t>(begin),
              list.begin() + static_cast<std::ptrdiff_t>(end));
}

// Reshapes group by group; neither shape has an axis of size 1.
std::optional<View> reshape_whole_groups(const View& view, const Shape& shape,
                                         shapetracker::ReshapeGroup reshape) {
  const std::optional<std::vector<Group>> groups = find_groups(view.shape(), shape);
  if (!groups) return std::nullopt;
  Strides strides(shape.size(), 0);
  Mask mask;
  for (const sint& size : shape) mask.emplace_back(0, size);
  sint offset = view.offset();
  for (const Group& group : *groups) {
    const auto& [begin, end, to, to_end] = group;
    const std::optional<View> reshaped = reshape(
        View::trusted(part(view.shape(), begin, end), part(view.strides(), begin, end), 0,
                      view.mask() ? std::optional(part(*view.mask(), begin, end)) : std::nullopt),
        part(shape, to, to_end));
    if (!reshaped) return std::nullopt;
    offset = offset + reshaped->offset();
    std::ranges::copy(reshaped->strides(), strides.begin() + static_cast<std::ptrdiff_t>(to));
    if (reshaped->mask())
      std::ranges::copy(*reshaped->mask(), mask.begin() + static_cast<std::ptrdiff_t>(to));
  }
  return View::trusted(shape, std::move(strides), offset, std::move(mask));
}

// True if variables decide whether the only index of some axis of size 1 is valid: the axis must be
// kept.
bool has_one_that_masks(const View& view) {
  for (std::size_t i = 0; view.mask() && i < view.shape().size(); ++i) {
    const auto& [begin, end] = (*view.mask())[i];
    if (is_one(view.shape()[i]) && !(certainly_eq(begin, 0) && certainly_eq(end, 1))) return true;
  }
  return false;
}

// The view with axes of size 1 dropped or inserted to match `shape`; the other axes agree.
View with_ones_of(const View& view, const Shape& shape) {
  Strides strides(shape.size(), 0);
  std::optional<Mask> mask;
  if (view.mask()) mask.emplace(shape.size(), view.nothing_valid() ? Range{0, 0} : Range{0, 1});
  std::size_t from = 0;
  for (std::size_t to = 0; to < shape.size(); ++to) {
    if (is_one(shape[to])) continue;
    while (is_one(view.shape()[from])) ++from;
    strides[to] = view.strides()[from];
    if (mask) (*mask)[to] = (*view.mask())[from];
    ++from;
  }
  return View::trusted(shape, std::move(strides), view.offset(), std::move(mask));
}

}  // namespace

std::optional<View> View::reshape(const Shape& shape) const {
  if (shape == shape_) return *this;
  if (!nothing_valid() && !has_one_that_masks(*this) && same_but_for_ones(shape_, shape))
    return with_ones_of(*this, shape);
  View target = contiguous(shape);
  const sint have = size(), want = target.size();
  if (!certainly_eq(have, want) && !shapetracker::proved_eq(have, want)) {
    if (certainly_lt(have, want) || certainly_lt(want, have) || (have.is_int() && want.is_int()))
      throw ShapeError(fmt::format(
          "reshape: {} has {} elements, {} has {}; sizes must agree (pad or shrink first)",
          touchstone::str(shape_), have.str(), touchstone::str(shape), want.str()));
    throw ShapeError(
        fmt::format("reshape: whether {} ({} elements) and {} ({}) have the same size depends on "
                    "the variables; bind them first",
                    touchstone::str(shape_), have.str(), touchstone::str(shape), want.str()));
  }
  if (is_contiguous()) return target;
  if (nothing_valid() && shape.empty()) return std::nullopt;  // rank 0 cannot be masked
  if (nothing_valid())
    return trusted(shape, Strides(shape.size(), 0), 0, Mask(shape.size(), Range{0, 0}));
  return shapetracker::reshape_by_groups(*this, shape, shapetracker::reshape_row_major);
}

std::optional<View> shapetracker::reshape_by_groups(const View& view, const Shape& shape,
                                                    ReshapeGroup reshape) {
  if (has_one_that_masks(view)) return std::nullopt;
  if (same_but_for_ones(view.shape(), shape)) return with_ones_of(view, shape);
  const std::optional<View> grouped = reshape_whole_groups(
      with_ones_of(view, without_ones(view.shape())), without_ones(shape), reshape);
  if (!grouped) return std::nullopt;
  return with_ones_of(*grouped, shape);
}

}  // namespace touchstone
