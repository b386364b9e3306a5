#include "touchstone/fuzz/reads_check.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "touchstone/base/checked.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/fuzz/view_case.h"
#include "touchstone/ops/node_map.h"
#include "touchstone/ops/node_order.h"

namespace touchstone::fuzz {
namespace {

using Axes = std::set<std::size_t>;
using Nodes = std::set<const LazyOp*>;

/// Counts what linear code does, step by step; of values only those of indices are computed.
class CountedRun {
 public:
  explicit CountedRun(const LinearKernel& kernel) : steps_(kernel.uops), value_(steps_.size(), 0) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].kind == StepKind::Loop) open.push_back(i);
      if (steps_[i].kind != StepKind::EndLoop) continue;
      end_[open.back()] = i;
      open.pop_back();
    }
  }

  /// Nothing of a run of more than `most` steps.
  std::optional<std::int64_t> reads(std::int64_t most) {
    left_ = most;
    run(0, steps_.size());
    return left_ < 0 ? std::nullopt : std::optional(reads_);
  }

 private:
  void run(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && --left_ >= 0; ++i) {
      const LinearStep& step = steps_[i];
      if (step.kind == StepKind::Load) ++reads_;
      if (step.kind == StepKind::Index) value_[i] = computed(step);
      if (step.kind == StepKind::Const) value_[i] = constant_of(step).value_or(0);
      if (step.kind != StepKind::Loop) continue;
      const std::size_t close = end_.at(i);
      for (value_[i] = of(step, 0); value_[i] < of(step, 1) && left_ >= 0; ++value_[i])
        run(i + 1, close);
      i = close;
    }
  }

  std::int64_t of(const LinearStep& step, std::size_t operand) const {
    return value_[static_cast<std::size_t>(step.src[operand])];
  }

  std::int64_t computed(const LinearStep& step) const {
    const std::int64_t a = of(step, 0), b = step.src.size() > 1 ? of(step, 1) : 0;
    switch (std::get<IndexOp>(step.arg)) {
      case IndexOp::Add:
        return a + b;
      case IndexOp::Sub:
        return a - b;
      case IndexOp::Mul:
        return a * b;
      case IndexOp::FloorDiv:
      case IndexOp::Div:
        return b == 0 ? 0 : floor_div(a, b);
      case IndexOp::FloorMod:
      case IndexOp::Mod:
        return b == 0 ? 0 : floor_mod(a, b);
      case IndexOp::Lt:
        return a < b ? 1 : 0;
      case IndexOp::Le:
        return a <= b ? 1 : 0;
      case IndexOp::Eq:
        return a == b ? 1 : 0;
      case IndexOp::Ne:
        return a != b ? 1 : 0;
      case IndexOp::And:
        return a != 0 && b != 0 ? 1 : 0;
      case IndexOp::Or:
        return a != 0 || b != 0 ? 1 : 0;
      case IndexOp::Not:
        return a == 0 ? 1 : 0;
      case IndexOp::Min:
        return std::min(a, b);
      case IndexOp::Max:
        return std::max(a, b);
      case IndexOp::Where:
        return a != 0 ? b : of(step, 2);
    }
    return 0;
  }

  const std::vector<LinearStep>& steps_;
  std::vector<std::int64_t> value_;
  std::map<std::size_t, std::size_t> end_;  // of each loop
  std::int64_t reads_ = 0, left_ = 0;
};

/// Axes along which some element's address differs from its neighbour's.
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

/// What a concrete kernel may read, from the views of its loads alone.
class AllowedReads {
 public:
  explicit AllowedReads(const LazyOpPtr& kernel) : order_(ordered_nodes(kernel)) {
    for (const LazyOp* node : order_) meet(*node);
    for (auto node = order_.rbegin(); node != order_.rend(); ++node) pass_down(**node);
    const std::int64_t places = size_along(*kernel, depended_);
    NodeMap<std::int64_t> runs(order_.size());  // of all terms of a reduce
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
      if (node.buffer().checked)  // the faults of positions have numbers of their own
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

  // The reduces, or the store, in whose terms a node stands.
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
  Axes depended_;  // on which some reduce does
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
  const auto reads = CountedRun(linearize(c.kernel)).reads(kMostSteps);
  if (!reads) return {false, {}};
  if (*reads <= 2 * allowed + kFew) return {true, {}};
  return {true, fmt::format("its code reads {} elements; each reduce once for what it depends on, "
                            "{} are enough",
                            *reads, allowed)};
}

}  // namespace touchstone::fuzz
