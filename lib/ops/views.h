#pragma once

#include <optional>

#include "touchstone/ops/lazy_op.h"

namespace touchstone {

/// Calls visit(view, first) for each view in a node's argument. `first`: the number of the view's
/// leading axes that the node itself lacks.
template <class Visit>
void each_view(const LazyOp& node, const Visit& visit) {
  if (const auto* b = std::get_if<MemBuffer>(&node.arg())) {
    visit(b->st, position_axes(node.op()));
    if (b->checked) visit(*b->checked, 0);
  }
  if (const auto* c = std::get_if<ConstBuffer>(&node.arg())) visit(c->st, 0);
}

/// A node's op and argument, each view replaced by change(view, first), over other operands.
template <class Change>
LazyOpPtr with_views(const LazyOp& node, std::vector<LazyOpPtr> src, const Change& change) {
  OpArg arg = node.arg();
  if (auto* b = std::get_if<MemBuffer>(&arg)) {
    b->st = change(b->st, position_axes(node.op()));
    if (b->checked) b->checked = change(*b->checked, 0);
  }
  if (auto* c = std::get_if<ConstBuffer>(&arg)) c->st = change(c->st, 0);
  return LazyOp::make(node.op(), std::move(src), std::move(arg));
}

}  // namespace touchstone
