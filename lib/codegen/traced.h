#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "touchstone/codegen/linearize.h"

// The same code as linearize.h and render_c.h give, with what each part of it comes from: for pages
// that show them side by side.

namespace touchstone {

struct TracedKernel {
  LinearKernel linear;
  /// Of each step the node that it computes or serves, by its place in ordered_nodes(kernel); -1
  /// where it serves several. All are -1 where the code computes parts of the kernel again.
  std::vector<int> nodes;
};
/// Throws as linearize.
TracedKernel linearize_traced(const LazyOpPtr& kernel, const CodegenOptions& options = {});

struct TracedC {
  std::string text;        // of render_c_function
  std::vector<int> lines;  // of each step, from 0: where it stands or is used; -1 if nowhere
};
TracedC render_c_traced(const LinearKernel& kernel, std::string_view symbol);

}  // namespace touchstone
