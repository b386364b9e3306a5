#pragma once

#include <optional>

#include "touchstone/ops/op.h"
#include "touchstone/uop/ops.h"

namespace touchstone::kernelize {

/// The op of kernels that computes an elementwise node; nullopt where there is none of that name:
/// CMPNE (see lower.h), OR, AND, SHL, SHR, POW, THREEFRY, and CAST and BITCAST, which have types.
std::optional<Op> op_of(Ops op);
/// The node that says the same as an elementwise op of kernels on a type; nullopt for NOOP, CAST.
std::optional<Ops> ops_of(Op op, bool floats);

}  // namespace touchstone::kernelize
