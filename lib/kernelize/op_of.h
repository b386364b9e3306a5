#pragma once

#include <optional>

#include "touchstone/ops/op.h"
#include "touchstone/uop/ops.h"

namespace touchstone::kernelize {

/// The kernel op of an elementwise node; nullopt if there is none of that name: CMPNE (see
/// lower.h), OR, AND, SHL, SHR, POW, THREEFRY, and CAST and BITCAST, which carry types.
std::optional<Op> op_of(Ops op);
/// The node op equivalent to an elementwise kernel op on a type; nullopt for NOOP, CAST.
std::optional<Ops> ops_of(Op op, bool floats);

}  // namespace touchstone::kernelize
