#pragma once

#include <vector>

#include "touchstone/ops/lazy_op.h"

namespace touchstone {

/// The nodes of toposort(root) as raw pointers, valid while `root` lives.
std::vector<const LazyOp*> ordered_nodes(const LazyOpPtr& root);
std::vector<const LazyOp*> ordered_nodes(const LazyOp& root);

/// The axes of a reduce with more than one term, in order.
std::vector<std::size_t> looped_axes(const LazyOp& reduce);

}  // namespace touchstone
