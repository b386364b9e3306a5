#pragma once

#include <vector>

#include "touchstone/ops/lazy_op.h"

namespace touchstone {

/// The nodes of toposort(root) as raw pointers, valid while `root` lives.
std::vector<const LazyOp*> ordered_nodes(const LazyOpPtr& root);

}  // namespace touchstone
