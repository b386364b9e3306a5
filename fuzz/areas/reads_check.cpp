#include "touchstone/fuzz/areas/reads_check.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "touchstone/codegen/linearize.h"
#include "touchstone/fuzz/areas/code_run.h"
#include "touchstone/fuzz/index/view_case.h"
#include "touchstone/ops/node_map.h"
#include "touchstone/ops/node_order.h"

namespace touchstone::fuzz {
namespace {

using Axes = std::set<std::size_t>;
using Nodes = std::set<const LazyOp*>;

/// Axes along which the address of some element differs from its neighbour's.
Axes moving(const ShapeTracker& st) {
  const Addresses at = addresses_of(st.views());
  Axes axes;
  std::size_t stride = 1;
  for (std::size_t axis = at.shape.size(); axis-- > 0;) {
    const auto size = static_cast<std::size_t>(at.shape[axis]);
    for (std::size_t p = 0; p + stride < at.cells.size(); ++p)
      if (p / stride % size + 1 < size && at.cells[p] != at.cells[p + stride]) {
        axes.insert(axis);
        break;
      }
    stride *= size;
  }
  return axes;
}

std::int64_t size_along(const LazyOp& node, const Axes& axes) {
  std::int64_t size = 1;
  for (const std::size_t axis : axes) size *= node.shape()[axis].as_int();
  return size;
}

/// The reads allowed to a concrete kernel, from the views of its loads.
class AllowedReads {
 public:
  explicit AllowedReads(const LazyOpPtr& kernel) : order_(ordered_nodes(kernel)) {
    for (const LazyOp* node : order_) meet(*node);
    for (auto node = order_.rbegin(); node != order_.rend(); ++node) pass_down(**node);
    const std::int64_t places = size_along(*kernel, depended_);
    NodeMap<std::int64_t> runs(order_.size());  // over all terms of a reduce
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      const LazyOp& node = **at;
      if (node.op() == Op::Store) all_ += elements_of(*kernel) * loads_below(node);
      if (!is_reduce(node.op())) continue;
      std::int64_t times = 0;
      for (const LazyOp* user : users_[&node]) {
        const bool above = is_reduce(user->op());
        times += above && differs_for_terms_of(*user, node)
                     ? runs[user] / std::max<std::int64_t>(places, 1)
                     : 1;
      }
      const std::int64_t terms = size_along(*node.src()[0], reduced_[&node]);
      runs.emplace(&node, terms * places * std::max<std::int64_t>(times, 1));
      all_ += runs[&node] * loads_below(node);
    }
  }

  std::int64_t all() const { return all_; }

 private:
  static std::int64_t elements_of(const LazyOp& node) {
    std::int64_t count = 1;
    for (const sint& size : node.shape()) count *= size.as_int();
    return count;
  }

  void meet(const LazyOp& node) {
    Axes moves;
    Nodes loads;
    if (is_load(node.op())) {
      const auto in_front = static_cast<std::size_t>(position_axes(node.op()));
      for (const std::size_t axis : moving(node.buffer().st))
        if (axis >= in_front) moves.insert(axis - in_front);
      if (node.buffer().checked)  // position errors report the index along these axes
        for (const std::size_t axis : moving(*node.buffer().checked)) moves.insert(axis);
      loads.insert(&node);
    } else if (node.op() == Op::Const) {
      moves = moving(node.constant().st);
    }
    for (const LazyOpPtr& s : node.src()) {
      moves.insert(moves_[s.get()].begin(), moves_[s.get()].end());
      if (!is_reduce(s->op())) loads.insert(loads_[s.get()].begin(), loads_[s.get()].end());
    }
    if (is_reduce(node.op())) {
      Axes& reduced = reduced_[&node];
      for (std::size_t i = 0; i < node.shape().size(); ++i)
        if (node.shape()[i] != node.src()[0]->shape()[i]) reduced.insert(i);
      for (const std::size_t axis : reduced) moves.erase(axis);
      depended_.insert(moves.begin(), moves.end());
    }
    moves_[&node] = std::move(moves);
    loads_[&node] = std::move(loads);
  }

  // The reduces, or the store, whose terms contain the node.
  void pass_down(const LazyOp& node) {
    const bool own = is_reduce(node.op()) || node.op() == Op::Store;
    for (const LazyOpPtr& s : node.src()) {
      Nodes& users = users_[s.get()];
      if (own)
        users.insert(&node);
      else
        users.insert(users_[&node].begin(), users_[&node].end());
    }
  }

  std::int64_t loads_below(const LazyOp& node) const {
    const LazyOp& below = *node.src().back();
    return is_reduce(below.op()) ? 0 : static_cast<std::int64_t>(loads_.at(&below).size());
  }

  bool differs_for_terms_of(const LazyOp& user, const LazyOp& node) const {
    return std::ranges::any_of(reduced_.at(&user),
                               [&](std::size_t axis) { return moves_.at(&node).contains(axis); });
  }

  std::vector<const LazyOp*> order_;
  std::map<const LazyOp*, Axes> moves_, reduced_;
  std::map<const LazyOp*, Nodes> loads_;  // outside the reduces below
  std::map<const LazyOp*, Nodes> users_;
  Axes depended_;  // axes that some reduce depends on
  std::int64_t all_ = 0;
};

}  // namespace

std::int64_t allowed_reads(const LazyOpPtr& kernel) { return AllowedReads(kernel).all(); }

Reply reads_too_often(const KernelCase& c) {
  constexpr std::int64_t kMostSteps = 200'000, kFew = 32;
  const auto stacked = [](const LazyOp* node) {
    return is_load(node->op()) && node->buffer().st.views().size() > 1;
  };
  if (!c.values.empty() || std::ranges::any_of(ordered_nodes(c.kernel), stacked))
    return {false, {}};
  std::int64_t allowed = 0;
  try {
    allowed = allowed_reads(c.kernel);
  } catch (const TooManyCells&) {
    return {false, {}};
  }
  const auto run = run_code(linearize(c.kernel), {}, {}, kMostSteps);
  if (!run) return {false, {}};
  if (run->reads <= 2 * allowed + kFew) return {true, {}};
  return {true, fmt::format("its code reads {} elements; {} suffice if each reduce runs once per "
                            "value of its own axes",
                            run->reads, allowed)};
}

}  // namespace touchstone::fuzz
