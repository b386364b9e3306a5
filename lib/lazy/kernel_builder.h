#pragma once

#include <vector>

#include "touchstone/lazy/fusion.h"

namespace touchstone::lazy {

/// The kernel of one realized node: a valid AST, and the bases it reads: inputs[i] is buffer i + 1.
struct Kernel {
  LazyOpPtr ast;
  std::vector<LazyBufferPtr> inputs;
  std::vector<int> pending;  // nodes of those inputs that are not realized yet
  bool has_variables = false;
};

/// Builds the AST of node `root`, which must be realized by computing (not RAND, FROM, EMPTY). All
/// movement is folded into the views of the leaves. If a reduce does not fit, or kMostViews is
/// exceeded, realizes the offending node in `graph` and builds the rest.
Kernel build_kernel(Graph& graph, int root);

}  // namespace touchstone::lazy
