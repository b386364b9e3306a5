#pragma once

#include <optional>
#include <span>
#include <vector>

#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone::lazy {

/// Returns the node of a base given those of its sources: elementwise, CAST, a reduce, CONTIGUOUS,
/// NOOP (including movement steps on several devices). Throws ShapeError if such a step would split
/// shards.
UOp node_of(const LazyBuffer& base, std::vector<UOp> src);

/// The axis along which a base on several devices is sharded, by the rules for MULTI. Throws as
/// they do.
std::optional<int> axis_of_result(const LazyBuffer& base);

/// True if anything to compute is on several devices or reads from several.
bool needs_several(std::span<const LazyBufferPtr> outputs);

/// The shape of a base on each device.
Shape shape_on_each(const LazyBuffer& base);

}  // namespace touchstone::lazy
