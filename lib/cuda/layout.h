#pragma once

#include "touchstone/cuda/cuda_options.h"
#include "touchstone/cuda/grid.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::cuda {

/// A kernel on its grid: as the options name it, else the first of these that is legal for it.
/// - Without a reduce: a thread for so many neighbouring outputs as make 16 bytes, or one.
/// - A product of matrices, where a load serves several rows and another several columns: a thread
///   for 8 by 8 outputs, the threads of a block side by side in both directions.
/// - A reduce whose terms lie side by side: a block for each row of outputs, whose threads take a
///   running sum each and fold them in shared memory.
/// - The same of one long row: several blocks, the last of which folds their sums.
/// - Few outputs whose terms lie apart: several threads for each, neighbours side by side.
/// - Else a thread for each output.
/// Throws AstError where the kernel is not valid, or the options name what is not legal for it.
GridKernel lay_out(const LazyOpPtr& kernel, const CudaOptions& options);

}  // namespace touchstone::cuda
