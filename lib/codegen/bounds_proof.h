#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "touchstone/symbolic/node/node.h"
#include "touchstone/uop/linear_kernel.h"

namespace touchstone {

/// An access to a buffer or an array of a kernel that could not be shown to stay inside it.
struct Unproved {
  int step = 0;
  std::string why;  // "the index i0*4 + r1 of b1 may be as large as 64, and b1 has 60 elements"
};

/// Whether an index is proved to be in [0, size) wherever all of `facts` hold.
bool proves_inside(symbolic::Node index, std::span<const symbolic::Node> facts, std::int64_t size);

/// Reads the index arithmetic of the linear code back into expressions, and bounds each index by
/// the loops round it and the condition of its load. Shares with the linearizer that made the code
/// the simplifier alone. Sizes are those of `kernel.buffers`; `variables` have the bounds of the
/// kernel's. `kernel` must pass verify().
std::vector<Unproved> unproved_accesses(const LinearKernel& kernel,
                                        std::span<const symbolic::Node> variables = {});

/// The kernel with a condition at each load that is not proved: outside its buffer it reads 0.
/// Throws AstError for an access that writes, or to an array: such code is wrong.
LinearKernel guarded(LinearKernel kernel, std::span<const symbolic::Node> variables = {});

}  // namespace touchstone
