#include "touchstone/ops/flop_counter.h"

#include <algorithm>

namespace touchstone {
namespace {

// Elements of a buffer that a view touches: no more than its logical size over the axes along which
// its outermost view moves, and no more than the addresses it reaches.
sint touched(const ShapeTracker& st) {
  sint count = 1;
  for (std::size_t i = 0; i < st.shape().size(); ++i)
    if (st.views().back().strides()[i] != sint(0)) count = count * st.shape()[i];
  return count.is_int() ? sint(std::min(count.as_int(), st.real_size())) : count;
}

}  // namespace

sint FlopCounter::total_mem() const {
  sint total = 0;
  for (const auto& [idx, bytes] : mem) total = total + bytes;
  return total;
}

FlopCounter get_lazyop_info(const LazyOpPtr& ast) {
  FlopCounter counter{ast->shape(), ast->dtype(), 0, {}};
  for (const LazyOpPtr& node : toposort(ast)) {
    const Op op = node->op();
    if (is_reduce(op)) {
      counter.flops = counter.flops + elements(node->src()[0]->shape());
    } else if (is_elementwise(op) && op != Op::Cast && op != Op::Noop) {
      const sint each = op == Op::MulAcc ? 2 : 1;
      counter.flops = counter.flops + each * elements(node->shape());
    } else if (const auto* b = std::get_if<MemBuffer>(&node->arg())) {
      const sint bytes = touched(b->st) * sint(static_cast<std::int64_t>(itemsize(b->dtype)));
      auto [it, fresh] = counter.mem.try_emplace(b->idx, bytes);
      // Several views of one buffer: the larger one, where that can be told, else the sum.
      if (!fresh && !certainly_le(bytes, it->second))
        it->second = certainly_le(it->second, bytes) ? bytes : it->second + bytes;
    }
  }
  return counter;
}

}  // namespace touchstone
