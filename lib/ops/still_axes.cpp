#include "touchstone/ops/still_axes.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "touchstone/ops/node_order.h"
#include "touchstone/ops/views.h"

namespace touchstone {
namespace {

constexpr std::size_t kMostAxes = 64;

StillAxes still_of(const View& view, bool looks_at_masks) {
  const auto none = [](const Range& r) { return certainly_le(r.second, r.first); };
  if (looks_at_masks && view.mask() && std::ranges::any_of(*view.mask(), none))
    return ~StillAxes{0};  // all masked
  StillAxes still = 0;
  for (std::size_t i = 0; i < std::min(view.shape().size(), kMostAxes); ++i) {
    const bool all = !view.mask() || (*view.mask())[i] == Range{sint(0), view.shape()[i]};
    if (all && view.strides()[i] == sint(0)) still |= StillAxes{1} << i;
  }
  return still;
}

std::optional<std::int64_t> whole(const sint& x) {
  return x.is_int() ? std::optional(x.as_int()) : std::nullopt;
}

// Axes of `outer` that only move along axes of `inner` with stride 0. The flat index between the
// views is a number in mixed radix: such an axis counts its digits in [low, high) without a carry.
StillAxes still_through(const View& outer, const View& inner) {
  const auto offset = whole(outer.offset());
  if (outer.mask() || inner.mask() || !offset || *offset < 0) return 0;
  struct Moving {
    std::size_t axis;
    std::int64_t low, high;
  };
  std::vector<Moving> moving;
  for (std::size_t i = 0; i < outer.shape().size(); ++i) {
    const auto size = whole(outer.shape()[i]), stride = whole(outer.strides()[i]);
    if (!size || !stride || *size < 1 || *stride < 0) return 0;
    if (*size == 1 || *stride == 0) continue;
    Moving m{i, *stride, 0};
    if (__builtin_mul_overflow(*size, *stride, &m.high)) return 0;
    moving.push_back(m);
  }
  std::ranges::sort(moving, {}, &Moving::low);
  const auto covers = [&](const Moving& m) {
    std::int64_t below = 1, covered = m.low;  // strides of the inner axes in row-major order
    for (std::size_t j = inner.shape().size(); j-- > 0 && below < m.high;) {
      const auto size = whole(inner.shape()[j]);
      std::int64_t above = 0;
      if (!size || *size < 1 || __builtin_mul_overflow(below, *size, &above)) return false;
      if (below == covered && above <= m.high && inner.strides()[j] == sint(0)) covered = above;
      below = above;
    }
    return covered == m.high;
  };
  StillAxes still = 0;
  std::int64_t previous = 1, reach = 0;  // the largest index of the axes below
  for (const Moving& m : moving) {
    if (m.low % previous != 0) return 0;
    const bool carries = *offset % m.low + reach >= m.low || *offset % m.high >= m.low;
    if (!carries && m.axis < kMostAxes && covers(m)) still |= StillAxes{1} << m.axis;
    reach += m.high - m.low;
    previous = m.high;
  }
  return still;
}

StillAxes still_of(const ShapeTracker& st, bool looks_at_masks) {
  const auto& views = st.views();
  StillAxes still = still_of(views.back(), looks_at_masks);
  if (views.size() > 1) still |= still_through(views.back(), views[views.size() - 2]);
  return still;
}

// The tree below the STORE with changed axes: leaf views through `move`, reduce axes through
// `place` (-1: removed). move(view, first): the node's axes start at `first`.
template <class Move>
LazyOpPtr moved(const LazyOpPtr& root, const Move& move, const std::vector<int>& place) {
  return rebuild(root, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
    if (!is_reduce(node->op())) return with_views(*node, src, move);
    std::vector<int> axes;
    for (const int axis : node->reduce_arg().axes)
      if (const int at = place[static_cast<std::size_t>(axis)]; at >= 0) axes.push_back(at);
    std::ranges::sort(axes);
    return LazyOp::reduce(node->op(), src[0], std::move(axes), node->reduce_arg().accumulator);
  });
}

}  // namespace

NodeMap<StillAxes> still_axes(const LazyOpPtr& root, bool looks_at_masks) {
  const std::vector<const LazyOp*> order = ordered_nodes(root);
  NodeMap<StillAxes> all(order.size());
  for (const LazyOp* node : order) {
    StillAxes still = ~StillAxes{0};
    for (const LazyOpPtr& s : node->src()) still &= all[s.get()];
    if (node->op() != Op::Store)  // of a GATHER also the numbers, since faults name positions
      each_view(*node, [&](const ShapeTracker& st, int first) {
        still &= still_of(st, looks_at_masks) >> first;
      });
    all.emplace(node, still);
  }
  return all;
}

LazyOpPtr order_axes(const LazyOpPtr& kernel) {
  const std::size_t rank = kernel->shape().size();
  if (rank < 2) return kernel;
  std::vector<int> moving(rank, 0);  // number of reduces that move along an output axis
  const NodeMap<StillAxes> still = still_axes(kernel);
  int reduces = 0;
  for (const LazyOp* node : ordered_nodes(kernel)) {
    if (!is_reduce(node->op())) continue;
    ++reduces;
    for (std::size_t i = 0; i < rank; ++i)
      if (!is_still(still[node], i)) ++moving[i];
  }
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  const auto counts = [&](int axis) {  // an axis of size 1 has no loop
    const auto i = static_cast<std::size_t>(axis);
    return kernel->shape()[i] == sint(1) ? reduces : moving[i];
  };
  if (reduces == 0 || std::ranges::is_sorted(order, std::ranges::greater(), counts)) return kernel;
  std::ranges::stable_sort(order, std::ranges::greater(), counts);
  return with_axes(kernel, order);
}

LazyOpPtr with_axes(const LazyOpPtr& kernel, const std::vector<int>& order) {
  const std::size_t rank = order.size();
  std::vector<int> place(rank);
  for (std::size_t i = 0; i < rank; ++i)
    place[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  return moved(
      kernel,
      [&](const ShapeTracker& st, int first) {
        std::vector<int> axes(static_cast<std::size_t>(first), 0);
        for (const int axis : order) axes.push_back(axis + first);
        return st.permute(axes);
      },
      place);
}

Compact compact(const LazyOpPtr& node, StillAxes still) {
  const std::vector<const LazyOp*> below = ordered_nodes(node);
  const std::size_t rank = node->shape().size();
  std::vector<bool> used(rank, false);
  for (const LazyOp* n : below) {
    for (std::size_t i = 0; i < rank; ++i)
      if (n->shape()[i] != sint(1) &&
          !(is_still(still, i) && n->shape()[i].min().value_or(0) >= 1))  // or it may be empty
        used[i] = true;
    if (is_reduce(n->op()))  // equal terms are still added up
      for (const int axis : n->reduce_arg().axes) {
        const auto i = static_cast<std::size_t>(axis);
        if (n->src()[0]->shape()[i] != sint(1)) used[i] = true;
      }
  }
  Compact made;
  std::vector<int> place(rank, -1);
  for (std::size_t i = 0; i < rank; ++i) {
    if (!used[i]) continue;
    place[i] = static_cast<int>(made.axes.size());
    made.axes.push_back(static_cast<int>(i));
  }
  made.node = moved(
      node,
      [&](const ShapeTracker& st, int in_front) {
        const auto first = static_cast<std::size_t>(in_front);
        Mask once;
        Shape shape;
        for (std::size_t i = 0; i < first + rank; ++i) {
          const bool stays = i < first || used[i - first];
          once.emplace_back(0, stays ? st.shape()[i] : sint(1));
          if (stays) shape.push_back(st.shape()[i]);
        }
        return st.shrink(once).reshape(shape);
      },
      place);
  return made;
}

}  // namespace touchstone
