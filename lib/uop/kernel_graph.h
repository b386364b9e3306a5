#pragma once

#include "touchstone/ops/lazy_op.h"
#include "touchstone/uop/uop.h"

namespace touchstone {

/// The AST of a kernel as a graph of UOps that `type_verify` knows at SpecLevel::Kernel: SINK of
/// one STORE; loads and the store through VIEWs of DEFINE_GLOBALs, numbered as the buffers; a
/// masked constant c as WHERE(VALID(view), c, 0).
/// Throws AstError where the AST is no STORE, or has an op that graphs lack.
UOp kernel_graph(const LazyOpPtr& kernel);

}  // namespace touchstone
