#pragma once

#include "touchstone/cuda/cuda_options.h"
#include "touchstone/cuda/grid.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::cuda {

/// Lays a kernel out on a grid as the options say; otherwise the first legal one of these:
/// - No reduce: one thread per 16 bytes of adjacent outputs, or per output.
/// - A matrix product, where one load serves several rows and another several columns: one thread
///   per 8 by 8 outputs, with the block's threads arranged in two dimensions.
/// - A reduce with contiguous terms: one block per output row, with one running sum per thread,
///   folded in shared memory.
/// - A single long row of that kind: several blocks; the last one folds their sums.
/// - Few outputs with strided terms: several threads per output, with adjacent outputs side by
///   side.
/// - Otherwise one thread per output.
/// Throws AstError if the kernel is invalid or the options are illegal for it.
GridKernel lay_out(const LazyOpPtr& kernel, const CudaOptions& options);

}  // namespace touchstone::cuda
