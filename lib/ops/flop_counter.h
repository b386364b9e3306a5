#pragma once

#include <map>

#include "touchstone/ops/lazy_op.h"

namespace touchstone {

/// The cost of a kernel. Each distinct node counts once: elementwise ops their output elements
/// (MULACC twice that, CAST and NOOP nothing), reduces their input elements. In a kernel with
/// reduces only what runs counts: along axes on which a reduce is still (still_axes.h) it and all
/// below it count once, as do reduces that are the same in the same loops, and values before loops
/// that they do not depend on. `mem` is bytes touched per buffer number: axes the address does not
/// depend on and what a mask hides are not counted, and a concrete view never counts more than it
/// can reach. Counts are symbolic where shapes are.
struct FlopCounter {
  Shape shape;
  DType dtype = DType::Float32;
  sint flops = 0;
  sint terms = 0;  // of the flops those of reduces
  std::map<int, sint> mem;

  sint total_mem() const;
};

FlopCounter get_lazyop_info(const LazyOpPtr& ast);

}  // namespace touchstone
