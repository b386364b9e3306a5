#include "touchstone/fuzz/judge/smaller_views.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace touchstone::fuzz {
namespace {

// A view that keeps the order of axes, reversals and repetitions but spans as few elements as
// possible.
View close_together(const View& v) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < v.shape().size(); ++i)
    if (v.strides()[i] != sint(0) && v.shape()[i] != sint(1)) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::pair(std::abs(v.strides()[i].as_int()), -static_cast<std::int64_t>(i));
  });
  Strides strides(v.shape().size(), 0);
  std::int64_t step = 1, offset = 0;
  for (const std::size_t i : order) {
    const bool turned = v.strides()[i].as_int() < 0;
    strides[i] = turned ? -step : step;
    if (turned) offset += step * (v.shape()[i].as_int() - 1);
    step *= std::max<std::int64_t>(v.shape()[i].as_int(), 1);
  }
  return View::strided(v.shape(), strides, offset, v.mask());
}

bool is_concrete(const View& v) {
  const auto number = [](const sint& s) { return s.is_int(); };
  return std::ranges::all_of(v.shape(), number) && std::ranges::all_of(v.strides(), number);
}

// The least and the greatest place that a non-empty view reaches.
std::pair<std::int64_t, std::int64_t> reach(const View& v) {
  std::int64_t low = v.offset().as_int(), high = low;
  for (std::size_t i = 0; i < v.shape().size(); ++i) {
    const std::int64_t far = v.strides()[i].as_int() * (v.shape()[i].as_int() - 1);
    (far < 0 ? low : high) += far;
  }
  return {low, high};
}

// Drops the elements of each view of a stack before the first and after the last one visible from
// above.
ShapeTracker trimmed(const ShapeTracker& st) {
  std::vector<View> views = st.views();
  for (std::size_t p = views.size(); p-- > 1;) {
    View &above = views[p], &below = views[p - 1];
    for (const View& v : {above, below})
      if (!is_concrete(v) || !v.offset().is_int() || v.size() == sint(0)) return st;
    auto [low, high] = reach(above);
    std::int64_t row = below.size().as_int(), first = 0;
    if (low < 0 || high >= row) return st;  // hidden by a mask
    Mask keep;
    for (bool whole = false; const sint& size : below.shape()) {
      row /= size.as_int();
      const std::int64_t begin = whole ? 0 : low / row,
                         end = whole ? size.as_int() : high / row + 1;
      keep.emplace_back(begin, end);
      if (whole) continue;
      first += begin * row;
      low -= begin * row;
      high -= begin * row;
      whole = end - begin > 1;
    }
    below = below.shrink(keep);
    above = View::strided(above.shape(), above.strides(), above.offset() - first, above.mask());
  }
  return ShapeTracker(std::move(views));
}

}  // namespace

ShapeTracker compacted(const ShapeTracker& st) {
  if (st.views().size() > 1) return trimmed(st);
  return is_concrete(st.views()[0]) ? ShapeTracker({close_together(st.views()[0])}) : st;
}

std::vector<ShapeTracker> simpler_views(const ShapeTracker& st) {
  std::vector<ShapeTracker> out;
  const auto take = [&](std::size_t place, const Shape& shape, const Strides& strides,
                        const sint& offset, const std::optional<Mask>& mask) {
    std::vector<View> views = st.views();
    views[place] = View::strided(shape, strides, offset, mask);
    for (std::size_t v = 0; v < views.size(); ++v) {
      const auto [low, high] = reach(views[v]);
      if (low < 0 || (v > 0 && high >= views[v - 1].size().as_int())) return;
    }
    out.emplace_back(std::move(views));
  };
  for (std::size_t p = 0; p < st.views().size(); ++p) {
    const View& v = st.views()[p];
    const Strides plain = View::contiguous(v.shape()).strides();
    if (v.size() == sint(0)) continue;
    take(p, v.shape(), plain, 0, v.mask());
    if (const View close = close_together(v); st.views().size() == 1)
      take(p, v.shape(), close.strides(), close.offset(), v.mask());
    take(p, v.shape(), v.strides(), 0, v.mask());
    take(p, v.shape(), v.strides(), v.offset(), std::nullopt);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      Strides strides = v.strides();
      strides[i] = plain[i];
      take(p, v.shape(), strides, v.offset(), v.mask());
    }
  }
  if (ShapeTracker less = trimmed(st); less != st) out.push_back(std::move(less));
  return out;
}

}  // namespace touchstone::fuzz
