#pragma once

#include <vector>

#include "touchstone/ops/lazy_op.h"

namespace touchstone {

/// The nodes of toposort(root), borrowed: they live as long as `root`.
std::vector<const LazyOp*> ordered_nodes(const LazyOpPtr& root);

}  // namespace touchstone
