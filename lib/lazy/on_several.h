#pragma once

#include <optional>
#include <span>
#include <vector>

#include "touchstone/lazy/fusion.h"
#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone::lazy {

/// The node that a base is over those of its sources: elementwise, CAST, a reduce, CONTIGUOUS, NOOP
/// (a step of movement on several devices among them). Throws ShapeError where such a step would
/// take elements of shards apart.
UOp node_of(const LazyBuffer& base, std::vector<UOp> src);

/// Along which axis a base on several devices is sharded, by the rules for MULTI. Throws what they
/// throw.
std::optional<int> axis_of_result(const LazyBuffer& base);

/// Whether what has to be computed is on several devices, or reads what is.
bool needs_several(const Graph& graph);

/// What each device has of a base: its shape.
Shape shape_on_each(const LazyBuffer& base);

}  // namespace touchstone::lazy
