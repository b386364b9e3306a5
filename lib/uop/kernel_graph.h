#pragma once

#include "touchstone/ops/lazy_op.h"
#include "touchstone/uop/uop.h"

namespace touchstone {

/// Converts a kernel's AST to a graph of UOps valid at SpecLevel::Kernel: SINK of one STORE; loads
/// and the store go through VIEWs of DEFINE_GLOBALs, numbered as the buffers; a masked constant c
/// is WHERE(VALID(view), c, 0). Throws AstError if the AST is not a STORE, or has an op without a
/// graph equivalent.
UOp kernel_graph(const LazyOpPtr& kernel);

}  // namespace touchstone
