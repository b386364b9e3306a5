#include "touchstone/codegen/merge_axes.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include "touchstone/ops/node_order.h"
#include "touchstone/ops/op_cases.h"
#include "touchstone/ops/still_axes.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {

namespace {

using Groups = std::vector<std::vector<int>>;  // adjacent axes to merge

const ShapeTracker* view_of(const LazyOp& node) {
  if (const auto* b = std::get_if<MemBuffer>(&node.arg())) return &b->st;
  if (const auto* c = std::get_if<ConstBuffer>(&node.arg())) return &c->st;
  return nullptr;
}

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
    if (const ShapeTracker* st = view_of(*node)) add(*st, position_axes(node->op()));
    if (node->op() == Op::Gather && node->buffer().checked) add(*node->buffer().checked, 0);
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
  const auto still = [](StillAxes all, int a) { return a < 64 && (all >> a & 1U) != 0; };
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
  const auto merge = [&](const ShapeTracker& st, int first = 0) {
    return merge_outermost(st.reshape(merged_shape(st.shape(), groups, first)));
  };
  return rebuild(kernel, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
    switch (node->op()) {
      case Op::Load:
        return LazyOp::load(node->buffer().idx, node->dtype(), merge(node->buffer().st));
      case Op::Gather:
        return LazyOp::gather(
            node->buffer().idx, node->dtype(), merge(node->buffer().st, 1), src[0],
            node->buffer().checked ? std::optional(merge(*node->buffer().checked)) : std::nullopt);
      case Op::Const: return LazyOp::constant(node->constant().value, merge(node->constant().st));
      case Op::Store: return LazyOp::store(merge(node->buffer().st), src[0]);
      case Op::ReduceSum:
      case Op::ReduceMax:
        return LazyOp::reduce(node->op(), src[0], merged_axes(node->reduce_arg().axes, groups),
                              node->reduce_arg().accumulator);
      TOUCHSTONE_CASES_ARITHMETIC:
      TOUCHSTONE_CASES_FUNCTION:
      TOUCHSTONE_CASES_COMPARISON:
      TOUCHSTONE_CASES_TERNARY:
      case Op::Function:
      TOUCHSTONE_CASES_MOVEMENT:
      TOUCHSTONE_CASES_LOAD:
        break;
    }
    return with_src(node, src);
  });
}

}  // namespace touchstone
