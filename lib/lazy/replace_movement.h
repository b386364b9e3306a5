#pragma once

#include <span>

#include "touchstone/lazy/lazy_buffer.h"
#include "touchstone/shapetracker/invert/movement_ops.h"

namespace touchstone {

/// Applies movement operations to the sources of x instead of to x: rebuilds each unrealized
/// elementwise op over moved sources, down to realized values and other ops. A PAD stays above an
/// op that does not map zeros to zero. The result equals x moved, bit for bit. The lineage's
/// LazyOp.replace_with_movement_ops; schedules do the same themselves (SHUFFLE_MOVEMENT_OPS).
/// Throws as the movement operations do, and ShapeError for AS_STRIDED, which has no such form.
LazyBufferPtr replace_with_movement_ops(const LazyBufferPtr& x, std::span<const MovementOp> ops);

}  // namespace touchstone
