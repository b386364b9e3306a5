#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "touchstone/ops/lazy_op.h"
#include "touchstone/ops/still_axes.h"

namespace touchstone::codegen {

/// Reduces whose neighbouring terms lie side by side in memory, so that a vector of accumulators
/// meets a vector of terms at a time: accumulator l takes the terms l, l + count, l + 2 count, ...
/// in row-major order over all axes of the reduce, and at the end their upper half is folded onto
/// the lower one, again and again.
struct RunningSums {
  std::int64_t count = 1;  // accumulators of a reduce; a power of 2
  std::unordered_set<const LazyOp*> reduces;
  /// Neighbouring outputs whose terms are met in one loop, where these hold no other reduce.
  std::size_t block_axis = 0;
  std::int64_t block = 1;
};

/// Whether every float sum is over one axis, or its innermost one has so many terms that each round
/// of `count` running sums stays within it.
bool rounds_are_whole(const LazyOpPtr& kernel, std::int64_t count);

/// Whether running sums pay for the float sums of a kernel that are over several axes: the
/// innermost one has 16 terms or more, as the kernel is given, so that the same is chosen for
/// numbers and for variables below that; and as its `axes` are merged rounds are whole, or rows
/// long and plain, as what fills up a round is added one by one.
bool rounds_pay(const LazyOpPtr& kernel, const LazyOpPtr& axes);

bool is_float_sum(const LazyOp& node);

/// All float sums of the kernel, or none; and maxima and sums of integers, whose order is free.
/// `apart`: also where terms lie apart in memory, for threads that each have a sum of their own.
RunningSums running_sums_of(const LazyOpPtr& kernel, const NodeMap<StillAxes>& still,
                            bool apart = false);

/// The same, empty where neighbouring outputs serve better. Sizes do not decide, but for those of
/// 1, and for the innermost of several axes of a reduce.
RunningSums plan_running_sums(const LazyOpPtr& kernel, const NodeMap<StillAxes>& still);

/// How many accumulators a reduce of a plan with `count` has: those of a long axis whose order is
/// free keep the processor busy also beside float sums, which are fewer.
std::int64_t accumulators_of(const LazyOp& reduce, std::int64_t count);

}  // namespace touchstone::codegen
