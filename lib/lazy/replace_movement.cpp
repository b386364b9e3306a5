#include "touchstone/lazy/replace_movement.h"

#include <unordered_map>
#include <utility>
#include <vector>

namespace touchstone {
namespace {

LazyBufferPtr moved(const LazyBufferPtr& x, const MovementOp& op) {
  switch (op.kind) {
    case MovementOp::Kind::Reshape:
      return x->reshape(op.shape);
    case MovementOp::Kind::Permute:
      return x->permute(op.order);
    case MovementOp::Kind::Expand:
      return x->expand(op.shape);
    case MovementOp::Kind::Pad:
      return x->pad(op.ends);
    case MovementOp::Kind::Shrink:
      return x->shrink(op.ends);
    case MovementOp::Kind::Stride:
      return x->stride(op.steps);
    case MovementOp::Kind::AsStrided:
      break;
  }
  throw ShapeError(
      "replace_with_movement_ops: AS_STRIDED of a computed value has no such form; make it "
      "contiguous() first");
}

bool can_be_made_anew(const LazyBufferPtr& x) {
  return x->is_base() && !x->is_realized() && x->move() == nullptr && !x->must_realize() &&
         x->assigns_to() == nullptr && is_elementwise(x->op());
}

// Moves one operation below all elementwise ops of a graph, rebuilding each once.
class Below {
 public:
  explicit Below(const MovementOp& op) : op_(op) {}

  // An explicit stack, for chains of any length.
  LazyBufferPtr run(const LazyBufferPtr& root) {
    std::vector<LazyBufferPtr> open{root};
    while (!open.empty()) {
      const LazyBufferPtr x = open.back();
      if (made_.contains(x.get())) {
        open.pop_back();
      } else if (!goes_below(x)) {
        made_.emplace(x.get(), moved(x, op_));
      } else if (!push_sources(x, open)) {
        made_.emplace(x.get(), anew(*x));
      }
    }
    return made_.at(root.get());
  }

 private:
  bool goes_below(const LazyBufferPtr& x) const {
    return can_be_made_anew(x) && (op_.kind != MovementOp::Kind::Pad || info(x->op()).keeps_zero);
  }

  bool push_sources(const LazyBufferPtr& x, std::vector<LazyBufferPtr>& open) const {
    bool any = false;
    for (const LazyBufferPtr& s : x->srcs())
      if (!made_.contains(s.get())) {
        open.push_back(s);
        any = true;
      }
    return any;
  }

  LazyBufferPtr anew(const LazyBuffer& x) const {
    std::vector<LazyBufferPtr> srcs;
    for (const LazyBufferPtr& s : x.srcs()) srcs.push_back(made_.at(s.get()));
    if (x.op() == Op::Noop) return srcs[0];
    if (x.op() != Op::Cast) return LazyBuffer::e(x.op(), std::move(srcs));
    const auto& to = std::get<CastArg>(x.arg());
    return to.bitcast ? srcs[0]->bitcast(to.to) : srcs[0]->cast(to.to);
  }

  const MovementOp& op_;
  std::unordered_map<const LazyBuffer*, LazyBufferPtr> made_;
};

}  // namespace

LazyBufferPtr replace_with_movement_ops(const LazyBufferPtr& x, std::span<const MovementOp> ops) {
  LazyBufferPtr now = x;
  for (const MovementOp& op : ops) now = Below(op).run(now);
  return now;
}

}  // namespace touchstone
