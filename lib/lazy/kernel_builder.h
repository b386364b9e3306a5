#pragma once

#include <vector>

#include "touchstone/lazy/fusion.h"

namespace touchstone::lazy {

/// A kernel for one realized node: a valid AST, and the bases it reads, inputs[i] as buffer i + 1.
struct Kernel {
  LazyOpPtr ast;
  std::vector<LazyBufferPtr> inputs;
  std::vector<int> pending;  // the nodes of those inputs that have no memory yet
  bool has_variables = false;
};

/// An unrealized node seen through more views than this in one kernel gets memory: repeating its
/// work that often costs more than a buffer, and chains of such nodes would double with every link.
inline constexpr int kMostViews = 64;

/// The AST of node `root`, which must be one that gets memory and computes (no RAND, FROM, EMPTY).
/// All movement is folded into the views of its leaves. Where a reduce turns out not to fit, or
/// kMostViews is passed, the node in the way is given memory in `graph` and the rest is built.
Kernel build_kernel(Graph& graph, int root);

}  // namespace touchstone::lazy
