#pragma once

#include <span>

#include "touchstone/lazy/lazy_buffer.h"
#include "touchstone/shapetracker/invert/movement_ops.h"

namespace touchstone {

/// x after the movement operations, by movement of what it is computed from: each elementwise op
/// that has no memory is made anew over sources that were moved, which end where something else is
/// computed or has memory. A PAD stays above an op that makes something of zeros. The elements are
/// those of x moved, bit for bit. The lineage's LazyOp.replace_with_movement_ops; schedules do the
/// same of themselves (SHUFFLE_MOVEMENT_OPS). Throws as the movement operations do, and ShapeError
/// for AS_STRIDED, which has no such form.
LazyBufferPtr replace_with_movement_ops(const LazyBufferPtr& x, std::span<const MovementOp> ops);

}  // namespace touchstone
