#pragma once

#include "touchstone/ops/lazy_op.h"
#include "touchstone/uop/linear_kernel.h"

namespace touchstone {

/// How code is made; equal options and kernels give equal code.
struct CodegenOptions {
  bool merge_axes = true;  // neighbouring axes become one loop where all views allow
  bool lanes = true;       // neighbouring outputs reduce side by side (lanes.h)
  bool stages = true;      // values shared by lanes or rows are computed ahead of them (stage.h)

  bool operator==(const CodegenOptions&) const = default;
};

/// A kernel as plain loops: one for each output axis of a size other than 1, those of each reduce
/// inside them round an accumulator, in row-major order. Work that does not depend on a loop stands
/// before it. Float arithmetic keeps the order and the roundings of the AST. An output without
/// elements gives no code; a reduce of nothing gives its initial value; a masked LOAD does not
/// read. Throws AstError where the kernel is not valid.
LinearKernel linearize(const LazyOpPtr& kernel, const CodegenOptions& options = {});

}  // namespace touchstone
