#pragma once

#include <map>

#include "touchstone/ops/lazy_op.h"

namespace touchstone {

/// The cost of a kernel. Each distinct node counts once: elementwise ops by output elements (MULACC
/// twice that, CAST and NOOP nothing), reduces by input elements. In a kernel with reduces, work
/// that runs once counts once: a reduce along axes where it is still (still_axes.h), equal reduces
/// in the same loops, and values hoisted out of loops that they do not depend on. `mem` is bytes
/// touched per buffer number, excluding axes that do not move the address and masked elements; a
/// concrete view never counts more than it can reach. Counts are symbolic if shapes are.
struct FlopCounter {
  Shape shape;
  DType dtype = DType::Float32;
  sint flops = 0;
  sint terms = 0;        // the part of `flops` from reduces
  sint float_flops = 0;  // the part of `flops` that makes floats
  std::map<int, sint> mem;

  sint total_mem() const;
};

FlopCounter get_lazyop_info(const LazyOpPtr& ast);

}  // namespace touchstone
