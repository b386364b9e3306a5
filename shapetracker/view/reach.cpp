#include "touchstone/shapetracker/view/reach.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <vector>

#include "touchstone/shapetracker/view/flat_view.h"

namespace touchstone::shapetracker {
namespace {

using Axis = AxisNumbers;

std::vector<Axis> axes_of(const View& view) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < view.shape().size(); ++i) axes.push_back(axis_of(view, i));
  return axes;
}

/// Addresses in [low, high], not all of them necessarily read.
struct Span {
  Wide low, high;
};

// Addresses read by valid flat indices in [in.low, in.high] of a view; nullopt if none is valid.
// Treats digits as independent.
std::optional<Span> through(std::span<const Axis> axes, std::int64_t offset, const Span& in) {
  const auto first = static_cast<std::int64_t>(in.low), last = static_cast<std::int64_t>(in.high);
  Span out{offset, offset};
  Wide weight = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const Axis& axis = axes[i];
    const Wide span = weight * axis.size;
    // If the coarser digits agree at both ends, this one covers only the range between them.
    const bool one_turn = first / span == last / span;
    const auto digit = [&](std::int64_t k) {
      return static_cast<std::int64_t>(k / weight % axis.size);
    };
    const std::int64_t low = std::max(one_turn ? digit(first) : 0, axis.begin);
    const std::int64_t high = std::min(one_turn ? digit(last) : axis.size - 1, axis.end - 1);
    if (low > high) return std::nullopt;
    out.low += static_cast<Wide>(axis.stride) * (axis.stride < 0 ? high : low);
    out.high += static_cast<Wide>(axis.stride) * (axis.stride < 0 ? low : high);
    weight = span;
  }
  return out;
}

/// Index ranges [low, high] of the outermost view's axes that move its address.
struct IndexBox {
  Wide bound;  // upper bound of the addresses
  int depth;
  std::vector<std::int64_t> low, high;

  bool operator<(const IndexBox& other) const {  // the deeper of equals first
    return bound != other.bound ? bound < other.bound : depth < other.depth;
  }
};

class Search {
 public:
  explicit Search(std::span<const View> views) {
    for (std::size_t v = views.size() - 1; v-- > 0;)
      inner_.push_back({axes_of(views[v]), views[v].offset().as_int()});
    base_ = views.back().offset().as_int();
    for (const Axis& axis : axes_of(views.back())) {
      if (axis.stride != 0 && axis.end - axis.begin > 1)
        moving_.push_back(axis);
      else
        base_ += static_cast<Wide>(axis.stride) * axis.begin;
    }
  }

  Highest run(int boxes) {
    IndexBox root{0, 0, {}, {}};
    for (const Axis& axis : moving_) {
      root.low.push_back(axis.begin);
      root.high.push_back(axis.end - 1);
    }
    push(std::move(root));
    constexpr std::size_t kAxes = 100;  // a box of a stack with more takes the time of several
    std::size_t axes = 1;
    for (const Inner& view : inner_) axes += view.axes.size();
    boxes = std::min(boxes, static_cast<int>(static_cast<std::size_t>(boxes) * kAxes / axes));
    while (!open_.empty() && !(best_ && open_.top().bound <= *best_)) {
      if (boxes-- == 0) return {false, std::nullopt};
      const IndexBox box = open_.top();
      open_.pop();
      halve(box);
    }
    return {true, best_ ? std::optional(static_cast<std::int64_t>(*best_)) : std::nullopt};
  }

 private:
  struct Inner {
    std::vector<Axis> axes;
    std::int64_t offset;
  };

  Span flat(const IndexBox& box) const {
    Span span{base_, base_};
    for (std::size_t i = 0; i < moving_.size(); ++i) {
      const Wide stride = moving_[i].stride;
      span.low += stride * (stride < 0 ? box.high[i] : box.low[i]);
      span.high += stride * (stride < 0 ? box.low[i] : box.high[i]);
    }
    return span;
  }

  // The range of addresses read by flat indices from the outermost view.
  std::optional<Span> reads(Span span) const {
    std::optional<Span> range = span;
    for (const Inner& view : inner_)
      if (range) range = through(view.axes, view.offset, *range);
    return range;
  }

  void push(IndexBox box) {
    const Span span = flat(box);
    const std::optional<Span> range = reads(span);
    if (!range || (best_ && range->high <= *best_)) return;
    box.bound = range->high;
    for (const Wide k : {span.low, span.high})  // corners: one point each, so the range is exact
      if (const std::optional<Span> point = reads({k, k});
          point && (!best_ || point->high > *best_))
        best_ = point->high;
    if (span.low != span.high) open_.push(std::move(box));
  }

  void halve(const IndexBox& box) {
    std::size_t widest = 0;
    Wide reach = -1;
    for (std::size_t i = 0; i < moving_.size(); ++i) {
      const Wide stride = moving_[i].stride;
      const Wide here = (stride < 0 ? -stride : stride) * (box.high[i] - box.low[i]);
      if (here > reach) std::tie(widest, reach) = std::pair(i, here);
    }
    const std::int64_t middle = box.low[widest] + (box.high[widest] - box.low[widest]) / 2;
    IndexBox lower = box, upper = box;
    lower.depth = upper.depth = box.depth + 1;
    lower.high[widest] = middle;
    upper.low[widest] = middle + 1;
    push(std::move(lower));
    push(std::move(upper));
  }

  std::vector<Inner> inner_;  // outermost first
  std::vector<Axis> moving_;  // axes of the outermost view with nonzero stride
  Wide base_ = 0;             // the address at index 0 of those axes
  std::optional<Wide> best_;
  std::priority_queue<IndexBox> open_;
};

}  // namespace

Highest highest_address(std::span<const View> views, int boxes) {
  for (const View& view : views)
    if (view.nothing_valid() || std::ranges::count(view.shape(), sint(0)) > 0)
      return {true, std::nullopt};
  return Search(views).run(boxes);
}

}  // namespace touchstone::shapetracker
