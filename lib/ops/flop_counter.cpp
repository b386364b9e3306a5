#include "touchstone/ops/flop_counter.h"

#include <algorithm>
#include <unordered_map>

#include "touchstone/ops/node_order.h"
#include "touchstone/ops/still_axes.h"

namespace touchstone {
namespace {

// Elements of a buffer that a view touches: at most the unmasked size over the axes along which its
// outermost view moves, and at most the number of addresses it reaches.
sint touched(const ShapeTracker& st) {
  const View& last = st.views().back();
  sint count = 1;
  for (std::size_t i = 0; i < st.shape().size(); ++i) {
    if (last.strides()[i] == sint(0)) continue;
    const auto [begin, end] = last.range(i);
    count = count * (end - begin);
  }
  return count.is_int() ? sint(std::min(count.as_int(), st.real_size())) : count;
}

}  // namespace

sint FlopCounter::total_mem() const {
  sint total = 0;
  for (const auto& [idx, bytes] : mem) total = total + bytes;
  return total;
}

namespace {

sint elements_without(const Shape& shape, StillAxes still) {
  Shape rest;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (!is_still(still, i) || shape[i] == sint(0)) rest.push_back(shape[i]);
  return elements(rest);
}

// The axes along which each node's work is done only once. Nodes below a duplicate of another
// reduce are not visited and have no entry.
class Work {
 public:
  explicit Work(const LazyOpPtr& kernel) : order_(ordered_nodes(kernel)), kernel_(*kernel) {
    for (const LazyOp* node : order_) reduces_ += is_reduce(node->op()) ? 1 : 0;
    if (reduces_ == 0) {
      for (const LazyOp* node : order_) once_.emplace(node, 0);
      return;
    }
    const NodeMap<StillAxes> still = still_axes(kernel);
    mark_met(kernel, still);
    for (const LazyOp* node : order_) {
      StillAxes* const of = once_.find(node);
      if (of == nullptr) continue;
      if (is_reduce(node->op())) *of |= still_apart(*node, still[node]);
      *of |= still_inside(*node, still[node]);
    }
  }

  template <class Visit>
  void each(const Visit& visit) const {
    for (const LazyOp* node : order_)
      if (const StillAxes* once = once_.find(node); once != nullptr && !repeated_.find(node))
        visit(*node, *once);
  }

 private:
  void mark_met(const LazyOpPtr& kernel, const NodeMap<StillAxes>& still) {
    once_.emplace(kernel.get(), 0);
    for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
      const StillAxes* of = once_.find(*node);
      if (of == nullptr) continue;
      StillAxes below = *of;
      if (is_reduce((*node)->op())) {
        below |= still_apart(**node, still[*node]);
        if (!is_first(**node, still[*node])) {
          repeated_.emplace(*node, true);
          continue;
        }
      }
      for (const LazyOpPtr& s : (*node)->src()) {
        const auto [known, fresh] = once_.emplace(s.get(), below);
        if (!fresh) *known &= below;
      }
    }
  }

  // Values are hoisted out of innermost loops that they do not depend on; output loops enclose
  // reduce loops.
  StillAxes still_inside(const LazyOp& node, StillAxes still) const {
    if (is_reduce(node.op())) return 0;
    StillAxes inside = 0;
    for (const bool of_output : {false, true})
      for (std::size_t i = std::min<std::size_t>(node.shape().size(), 64); i-- > 0;) {
        if ((kernel_.shape()[i] != sint(1)) != of_output || node.shape()[i] == sint(1)) continue;
        const StillAxes axis = StillAxes{1} << i;
        if ((still & axis) == 0) return inside;
        inside |= axis;
      }
    return inside;
  }

  // Without axes that this node or one below reduces.
  static StillAxes still_apart(const LazyOp& reduce, StillAxes still) {
    for (std::size_t i = 0; i < reduce.shape().size() && i < 64; ++i)
      if (reduce.shape()[i] == sint(1)) still &= ~(StillAxes{1} << i);
    return still;
  }

  bool is_first(const LazyOp& reduce, StillAxes still) {
    if (reduces_ == 1) return true;
    Compact made = compact(LazyOpPtr(LazyOpPtr(), &reduce), still);
    std::vector<int> axes;
    for (const int axis : made.axes) {
      const auto i = static_cast<std::size_t>(axis);
      if (reduce.shape()[i] == sint(1)) continue;
      if (kernel_.shape()[i] == sint(1)) return true;  // some enclosing reduce has a loop
      axes.push_back(axis);
    }
    std::vector<std::vector<int>>& known = met_[made.node];
    if (std::ranges::find(known, axes) != known.end()) return false;
    known.push_back(std::move(axes));
    return true;
  }

  std::vector<const LazyOp*> order_;
  const LazyOp& kernel_;
  int reduces_ = 0;
  NodeMap<StillAxes> once_;
  NodeMap<bool> repeated_;
  std::unordered_map<LazyOpPtr, std::vector<std::vector<int>>, LazyOpHash, LazyOpSame> met_;
};

}  // namespace

FlopCounter get_lazyop_info(const LazyOpPtr& ast) {
  FlopCounter counter{ast->shape(), ast->dtype(), 0, 0, 0, {}};
  const LazyOpPtr ordered = order_axes(ast);
  Work(ordered).each([&](const LazyOp& node, StillAxes once) {
    const Op op = node.op();
    const sint before = counter.flops;
    if (is_reduce(op)) {
      const sint terms = elements_without(node.src()[0]->shape(), once);
      counter.flops = counter.flops + terms;
      counter.terms = counter.terms + terms;
    } else if (op == Op::Function || (is_elementwise(op) && op != Op::Cast && op != Op::Noop)) {
      const sint each = op == Op::MulAcc ? 2 : 1;
      counter.flops = counter.flops + each * elements_without(node.shape(), once);
    } else if (const auto* b = std::get_if<MemBuffer>(&node.arg())) {
      sint count = touched(b->st);
      if (op == Op::Gather && certainly_lt(elements(node.shape()), count))
        count = elements(node.shape());
      const sint bytes = count * sint(static_cast<std::int64_t>(itemsize(b->dtype)));
      auto [it, fresh] = counter.mem.try_emplace(b->idx, bytes);
      // Several views of one buffer: the larger if comparable, else the sum.
      if (!fresh && !certainly_le(bytes, it->second))
        it->second = certainly_le(it->second, bytes) ? bytes : it->second + bytes;
    }
    if (is_float(node.dtype()) && counter.flops != before)
      counter.float_flops = counter.float_flops + (counter.flops - before);
  });
  return counter;
}

}  // namespace touchstone
