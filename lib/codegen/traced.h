#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "touchstone/codegen/linearize.h"

// The code of linearize.h and render_c.h with the origin of each part, for pages that show them
// side by side.

namespace touchstone {

struct TracedKernel {
  LinearKernel linear;
  /// For each step, the node it computes or serves, as an index in ordered_nodes(kernel); -1 if it
  /// serves several. All are -1 if the code recomputes parts of the kernel.
  std::vector<int> nodes;
};
/// Throws as linearize.
TracedKernel linearize_traced(const LazyOpPtr& kernel, const CodegenOptions& options = {});

struct TracedC {
  std::string text;        // from render_c_function
  std::vector<int> lines;  // by step, from 0: where it is written or used; -1 if nowhere
};
TracedC render_c_traced(const LinearKernel& kernel, std::string_view symbol);

}  // namespace touchstone
