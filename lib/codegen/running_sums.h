#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "touchstone/ops/lazy_op.h"
#include "touchstone/ops/still_axes.h"

namespace touchstone::codegen {

/// Reduces whose adjacent terms are adjacent in memory, added as vectors: accumulator l takes the
/// terms l, l + count, l + 2 count, ... in row-major order over all axes of the reduce; at the end
/// the upper half is repeatedly folded onto the lower.
struct RunningSums {
  std::int64_t count = 1;  // accumulators per reduce; a power of 2
  std::unordered_set<const LazyOp*> reduces;
  /// Adjacent outputs whose terms are added in one loop, which contains no other reduce.
  std::size_t block_axis = 0;
  std::int64_t block = 1;
};

/// True if every float sum is over one axis, or its innermost axis has a multiple of `count` terms.
bool rounds_are_whole(const LazyOpPtr& kernel, std::int64_t count);

/// True if running sums pay for float sums over several axes. The innermost axis of the given
/// kernel must have 16 terms, so that a fixed size and a variable below 16 lead to the same choice.
/// With merged `axes`, rounds must be whole, or rows long and simple: terms of an incomplete round
/// are added one by one.
bool rounds_pay(const LazyOpPtr& kernel, const LazyOpPtr& axes);

bool is_float_sum(const LazyOp& node);

/// All float sums of the kernel, or none; and maxima and integer sums, whose order is free.
/// `apart`: also if terms are not adjacent in memory, for threads with a sum each.
RunningSums running_sums_of(const LazyOpPtr& kernel, const NodeMap<StillAxes>& still,
                            bool apart = false);

/// As running_sums_of, but empty if adjacent outputs are better vectorized. The choice does not
/// depend on sizes, except for size 1 and the innermost of several reduce axes.
RunningSums plan_running_sums(const LazyOpPtr& kernel, const NodeMap<StillAxes>& still);

/// The number of accumulators of a reduce in a plan with `count`: order-free reduces over a long
/// axis get more, to keep the processor busy beside float sums.
std::int64_t accumulators_of(const LazyOp& reduce, std::int64_t count);

}  // namespace touchstone::codegen
