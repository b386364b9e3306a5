#include "touchstone/shapetracker/merge.h"

#include <algorithm>

#include "touchstone/shapetracker/merge_search.h"

namespace touchstone {
namespace shapetracker {
namespace {

using Truth = MergeSearch::Truth;

const MergeResult kNoSuchView = {MergeAnswer::NoSuchView, std::nullopt, 0};

bool fits(Wide value) { return value >= INT64_MIN && value <= INT64_MAX; }

MergeResult nothing_valid(const Shape& shape) {
  if (shape.empty()) return kNoSuchView;  // rank 0 has no axis to mask
  return {MergeAnswer::Merged,
          View::trusted(shape, Strides(shape.size(), 0), 0, Mask(shape.size(), Range{0, 0})), 0};
}

/// The outermost view as the search sees it: the valid indices of the axes that matter, from 0.
struct Outer {
  FlatIndex index;
  Box box;
  std::vector<std::size_t> axes;     // axis of the view
  std::vector<std::int64_t> begins;  // first valid index there

  explicit Outer(const View& view) {
    Wide base = view.offset().as_int();
    for (std::size_t axis = 0; axis < view.shape().size(); ++axis) {
      const std::int64_t stride = view.strides()[axis].as_int();
      if (stride == 0) continue;
      const std::int64_t begin = view.mask() ? (*view.mask())[axis].first.as_int() : 0;
      const std::int64_t end =
          (view.mask() ? (*view.mask())[axis].second : view.shape()[axis]).as_int();
      base += static_cast<Wide>(stride) * begin;
      box.dims.push_back({static_cast<std::int32_t>(axes.size()), 1, end - begin});
      box.low.push_back(0);
      index.strides.push_back(stride);
      axes.push_back(axis);
      begins.push_back(begin);
    }
    index.base = static_cast<std::int64_t>(base);
  }
};

// Index of the last point from `point` along `axis` that is valid, in steps of `sign`: exact where
// the valid points on that line are one run.
std::int64_t end_of_run(const MergeSearch& search, Point point, std::size_t axis, std::int64_t sign,
                        std::int64_t last) {
  std::int64_t inside = 0, outside = std::abs(last - point[axis]) + 1;
  const std::int64_t start = point[axis];
  while (outside - inside > 1) {
    const std::int64_t middle = inside + (outside - inside) / 2;
    point[axis] = start + sign * middle;
    (search.at(point) ? inside : outside) = middle;
  }
  return start + sign * inside;
}

/// The box of valid points if they are a box, from one of them: [low, high] per axis.
struct Valid {
  Point low, high;
};

Valid valid_box(const MergeSearch& search, const Outer& outer, const Point& inside, bool masked) {
  Valid valid{inside, inside};
  for (std::size_t axis = 0; axis < inside.size(); ++axis) {
    const std::int64_t last = outer.box.dims[axis].extent - 1;
    valid.low[axis] = masked ? end_of_run(search, inside, axis, -1, 0) : 0;
    valid.high[axis] = masked ? end_of_run(search, inside, axis, 1, last) : last;
  }
  return valid;
}

Box box_between(const Point& low, const Point& high) {
  Box box{low, {}};
  for (std::size_t axis = 0; axis < low.size(); ++axis)
    if (high[axis] > low[axis])
      box.dims.push_back({static_cast<std::int32_t>(axis), 1, high[axis] - low[axis] + 1});
  return box;
}

// Whether no point of the outer box outside `valid` is valid.
Truth nothing_outside(MergeSearch& search, const Outer& outer, const Valid& valid) {
  Point low(valid.low.size(), 0), high;
  for (const BoxDim& dim : outer.box.dims) high.push_back(dim.extent - 1);
  for (std::size_t axis = 0; axis < low.size(); ++axis) {
    const std::int64_t first = low[axis], last = high[axis];
    const auto slab_is_empty = [&](std::int64_t from, std::int64_t to) {
      if (from > to) return Truth::Yes;
      low[axis] = from;
      high[axis] = to;
      const Truth found = search.find(box_between(low, high)).truth;
      return found == Truth::Unknown ? found : found == Truth::Yes ? Truth::No : Truth::Yes;
    };
    if (const Truth t = slab_is_empty(first, valid.low[axis] - 1); t != Truth::Yes) return t;
    if (const Truth t = slab_is_empty(valid.high[axis] + 1, last); t != Truth::Yes) return t;
    low[axis] = valid.low[axis];
    high[axis] = valid.high[axis];
  }
  return Truth::Yes;
}

// The candidate as a view; nullopt where its offset or an address does not fit in 64 bits.
std::optional<View> assemble(const View& view, const Outer& outer, const Valid& valid,
                             std::int64_t base, const Point& slopes) {
  Strides strides(view.shape().size(), 0);
  std::optional<Mask> mask = view.mask();
  Wide offset = base, low = base, high = base;
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const std::size_t axis = outer.axes[i];
    const std::int64_t begin = outer.begins[i] + valid.low[i];
    const std::int64_t end = outer.begins[i] + valid.high[i] + 1;
    const Wide reach = static_cast<Wide>(slopes[i]) * (valid.high[i] - valid.low[i]);
    (reach < 0 ? low : high) += reach;
    offset -= static_cast<Wide>(slopes[i]) * begin;
    strides[axis] = slopes[i];
    if (!mask && (begin > 0 || !(sint(end) == view.shape()[axis]))) {
      mask.emplace();
      for (const sint& size : view.shape()) mask->emplace_back(0, size);
    }
    if (mask) (*mask)[axis] = {begin, end};
  }
  if (!fits(low) || !fits(high) || !fits(offset)) return std::nullopt;
  return View::trusted(view.shape(), std::move(strides), static_cast<std::int64_t>(offset),
                       std::move(mask));
}

MergeResult from_truth(Truth truth, int nodes) {
  return {truth == Truth::Unknown ? MergeAnswer::OverBudget : MergeAnswer::NoSuchView, std::nullopt,
          nodes};
}

MergeResult merge_flat(std::span<const FlatView> inner, const View& view, int budget) {
  const Outer outer(view);
  MergeSearch search(outer.index, inner, budget);
  const bool masked = std::ranges::any_of(inner, [](const FlatView& v) { return v.masked(); });
  Point inside = outer.box.low;
  if (masked) {
    MergeSearch::Found found = search.find(outer.box);
    if (found.truth == Truth::Unknown) return from_truth(found.truth, search.nodes());
    if (found.truth == Truth::No) {
      MergeResult result = nothing_valid(view.shape());
      result.nodes = search.nodes();
      return result;
    }
    inside = std::move(found.point);
  }
  const Valid valid = valid_box(search, outer, inside, masked);
  const std::optional<std::int64_t> base = search.at(valid.low);
  if (!base) return from_truth(Truth::No, search.nodes());
  Point slopes(valid.low.size(), 0), neighbour = valid.low;
  for (std::size_t axis = 0; axis < slopes.size(); ++axis) {
    if (valid.low[axis] == valid.high[axis]) continue;
    ++neighbour[axis];
    const std::optional<std::int64_t> address = search.at(neighbour);
    --neighbour[axis];
    if (!address || !fits(static_cast<Wide>(*address) - *base))
      return from_truth(Truth::No, search.nodes());
    slopes[axis] = *address - *base;
  }
  std::optional<View> merged = assemble(view, outer, valid, *base, slopes);
  if (!merged) return from_truth(Truth::No, search.nodes());
  Truth truth = search.is_affine(box_between(valid.low, valid.high), *base, slopes);
  if (truth == Truth::Yes && masked) truth = nothing_outside(search, outer, valid);
  if (truth != Truth::Yes) return from_truth(truth, search.nodes());
  return {MergeAnswer::Merged, std::move(merged), search.nodes()};
}

std::pair<Wide, Wide> wide_range(const View& view) {
  Wide low = view.offset().as_int(), high = low;
  for (std::size_t i = 0; i < view.shape().size(); ++i) {
    const Wide stride = view.strides()[i].as_int();
    const std::int64_t first = view.mask() ? (*view.mask())[i].first.as_int() : 0;
    const std::int64_t last =
        (view.mask() ? (*view.mask())[i].second : view.shape()[i]).as_int() - 1;
    low += stride * (stride < 0 ? last : first);
    high += stride * (stride < 0 ? first : last);
  }
  return {low, high};
}

void require_within(const View& outer, const View& inner) {
  const auto [low, high] = wide_range(outer);
  if (low < 0 || high >= inner.size().as_int())
    throw ShapeError(
        fmt::format("merge: {} reads addresses {} to {}, the view below it, {}, has {} "
                    "elements; mask or shrink the outer view",
                    outer.str(), static_cast<std::int64_t>(low), static_cast<std::int64_t>(high),
                    inner.str(), inner.size().str()));
}

}  // namespace

MergeResult merge_stack(std::span<const View> views, int budget) {
  if (views.empty()) throw ShapeError("merge: no views; give at least one");
  for (const View& view : views)
    if (!view.is_concrete())
      throw ShapeError(fmt::format("merge: {} has variables; bind them first", view.str()));
  const View& outer = views.back();
  if (outer.nothing_valid() || views.size() == 1) return {MergeAnswer::Merged, outer, 0};
  for (std::size_t i = 1; i < views.size(); ++i) {
    if (views[i - 1].nothing_valid()) return nothing_valid(outer.shape());
    require_within(views[i], views[i - 1]);
  }
  // Slopes are compared mod 2^64, which is exact where all differences of addresses fit in 63 bits.
  const auto [low, high] = wide_range(views.front());
  if (!fits(high - low)) return {MergeAnswer::OverBudget, std::nullopt, 0};
  Small<FlatView> inner;
  for (std::size_t i = views.size() - 1; i-- > 0;) inner.emplace_back(views[i]);
  return merge_flat({inner.data(), inner.size()}, outer, budget);
}

}  // namespace shapetracker

std::optional<View> View::merge(const View& inner, const View& outer) {
  if (inner.is_contiguous() && !inner.nothing_valid() &&
      outer.is_concrete() == inner.is_concrete()) {
    if (outer.is_concrete() && !outer.nothing_valid()) shapetracker::require_within(outer, inner);
    return outer;
  }
  if (outer.is_contiguous() && outer.shape() == inner.shape()) return inner;
  if (!inner.is_concrete() || !outer.is_concrete()) return std::nullopt;
  const View stack[] = {inner, outer};
  return shapetracker::merge_stack(stack).view;
}

}  // namespace touchstone
