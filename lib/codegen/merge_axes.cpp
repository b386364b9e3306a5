#include "touchstone/codegen/merge_axes.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include "touchstone/ops/node_order.h"
#include "touchstone/ops/still_axes.h"
#include "touchstone/ops/views.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {

namespace {

using Groups = std::vector<std::vector<int>>;  // adjacent axes to merge

// `first`: leading axes outside the groups.
Shape merged_shape(const Shape& shape, const Groups& groups, int first) {
  Shape merged(shape.begin(), shape.begin() + first);
  for (const auto& group : groups) {
    sint size = 1;
    for (const int axis : group)
      size = size * shape[static_cast<std::size_t>(first) + static_cast<std::size_t>(axis)];
    merged.push_back(size);
  }
  return merged;
}

// What determines whether axes may merge: distinct views and reduce axes.
struct Facts {
  std::vector<std::pair<const ShapeTracker*, int>> views;  // and number of leading axes
  std::set<std::vector<int>> reduces;
  std::set<StillAxes> still;  // of the reduces: they run once outside the loops over these axes
  std::set<int> single;       // of size 1 in all nodes
};

Facts facts_of(const LazyOpPtr& kernel) {
  Facts facts;
  std::unordered_multimap<std::uint64_t, std::pair<const ShapeTracker*, int>> seen;  // by hash
  const auto add = [&](const ShapeTracker& st, int axes_in_front) {
    const std::uint64_t hash = st.hash();
    const std::pair view{&st, axes_in_front};
    const auto [first, last] = seen.equal_range(hash);
    if (std::any_of(first, last, [&](const auto& other) {
          return *other.second.first == st && other.second.second == axes_in_front;
        }))
      return;
    seen.emplace(hash, view);
    facts.views.push_back(view);
  };
  const std::vector<const LazyOp*> nodes = ordered_nodes(kernel);
  if (std::ranges::any_of(nodes, [](const LazyOp* node) { return is_reduce(node->op()); })) {
    const NodeMap<StillAxes> still = still_axes(kernel);
    for (const LazyOp* node : nodes)
      if (is_reduce(node->op())) facts.still.insert(still[node]);
    for (std::size_t i = 0; i < kernel->shape().size(); ++i)
      if (std::ranges::all_of(nodes, [&](const LazyOp* n) { return n->shape()[i] == sint(1); }))
        facts.single.insert(static_cast<int>(i));
  }
  for (const LazyOp* node : nodes) {
    if (is_reduce(node->op())) facts.reduces.insert(node->reduce_arg().axes);
    each_view(*node, add);
  }
  return facts;
}

bool all_ints(const Shape& shape) {
  return std::ranges::all_of(shape, [](const sint& s) { return s.is_int() && s.as_int() > 0; });
}

// True if the axes belong to the same reduces and the same reduces are constant along them.
bool reduces_alike(const Facts& facts, const std::vector<int>& group, int axis) {
  const auto alike = [&](const std::vector<int>& axes) {
    return std::ranges::count(axes, group.front()) == std::ranges::count(axes, axis);
  };
  const auto still = [](StillAxes all, int a) {
    return is_still(all, static_cast<std::size_t>(a));
  };
  return std::ranges::all_of(facts.reduces, alike) && std::ranges::all_of(group, [&](int other) {
           return facts.single.contains(axis) || facts.single.contains(other) ||
                  std::ranges::all_of(facts.still, [&](StillAxes all) {
                    return still(all, other) == still(all, axis);
                  });
         });
}

bool views_allow(const Facts& facts, const Groups& groups) {
  return std::ranges::all_of(facts.views, [&](const auto& view) {
    const auto& [st, first] = view;
    const ShapeTracker merged =
        merge_outermost(st->reshape(merged_shape(st->shape(), groups, first)));
    return merged.views().size() <= st->views().size();
  });
}

Groups find_groups(const Facts& facts, int rank) {
  Groups groups;
  for (int axis = 0; axis < rank; ++axis) {
    if (!groups.empty() && reduces_alike(facts, groups.back(), axis)) {
      Groups trial = groups;
      trial.back().push_back(axis);
      for (int rest = axis + 1; rest < rank; ++rest) trial.push_back({rest});
      if (views_allow(facts, trial)) {
        groups.back().push_back(axis);
        continue;
      }
    }
    groups.push_back({axis});
  }
  return groups;
}

std::vector<int> merged_axes(const std::vector<int>& axes, const Groups& groups) {
  std::vector<int> merged;
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (std::ranges::count(axes, groups[g].front()) > 0) merged.push_back(static_cast<int>(g));
  return merged;
}

}  // namespace

LazyOpPtr merge_axes(const LazyOpPtr& kernel) {
  const int rank = static_cast<int>(kernel->shape().size());
  if (rank < 2) return kernel;
  const Facts facts = facts_of(kernel);
  if (!std::ranges::all_of(facts.views,
                           [](const auto& view) { return all_ints(view.first->shape()); }))
    return kernel;
  const Groups groups = find_groups(facts, rank);
  if (static_cast<int>(groups.size()) == rank) return kernel;
  const auto merge = [&](const ShapeTracker& st, int first) {
    return merge_outermost(st.reshape(merged_shape(st.shape(), groups, first)));
  };
  return rebuild(kernel, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
    if (!is_reduce(node->op())) return with_views(*node, src, merge);
    return LazyOp::reduce(node->op(), src[0], merged_axes(node->reduce_arg().axes, groups),
                          node->reduce_arg().accumulator);
  });
}

}  // namespace touchstone
