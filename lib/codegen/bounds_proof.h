#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "touchstone/symbolic/node/node.h"
#include "touchstone/uop/linear_kernel.h"

namespace touchstone {

/// An access to a buffer or array of a kernel that was not proved in bounds.
struct Unproved {
  int step = 0;
  std::string why;  // "the index i0*4 + r1 of b1 may be as large as 64, and b1 has 60 elements"
};

/// True if an index is proved to be in [0, size) whenever all `facts` hold.
bool proves_inside(symbolic::Node index, std::span<const symbolic::Node> facts, std::int64_t size);

/// Converts the index arithmetic of linear code back into expressions and bounds each index by its
/// loops and its load's condition. Shares only the simplifier with the linearizer that made the
/// code. Buffer sizes come from `kernel.buffers`; `variables` have the bounds of the kernel's.
/// `kernel` must pass verify().
std::vector<Unproved> unproved_accesses(const LinearKernel& kernel,
                                        std::span<const symbolic::Node> variables = {});

/// Returns the kernel with a condition on each unproved load: outside its buffer it reads 0. Throws
/// AstError for an unproved write or array access, since such code is wrong.
LinearKernel guarded(LinearKernel kernel, std::span<const symbolic::Node> variables = {});

}  // namespace touchstone
