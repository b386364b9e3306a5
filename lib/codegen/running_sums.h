#pragma once

#include <cstdint>
#include <unordered_set>

#include "touchstone/codegen/lanes.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::codegen {

/// Reduces whose neighbouring terms lie side by side in memory, so that a vector of accumulators
/// meets a vector of terms at a time: accumulator l takes the terms l, l + count, l + 2 count, ...
/// along the innermost axis of the reduce, and at the end their upper half is folded onto the lower
/// one, again and again.
struct RunningSums {
  std::int64_t count = 1;  // accumulators of a reduce; a power of 2
  std::unordered_set<const LazyOp*> reduces;
};

/// All float sums of the kernel, or none; and maxima and sums of integers, whose order is free.
/// Empty where `outputs` serve better: where neighbours of a load lie side by side along their
/// lanes, or are packed to.
RunningSums plan_running_sums(const LazyOpPtr& kernel, const std::optional<LanePlan>& outputs);

}  // namespace touchstone::codegen
