#pragma once

#include "touchstone/ops/lazy_op.h"

namespace touchstone {

/// Returns the same kernel with fewer axes: drops axes of size 1 and merges adjacent ones if every
/// reduce covers both or neither and every view can express the two as one. Elements and the order
/// of reduce terms are unchanged. Concrete sizes only; others stay.
LazyOpPtr merge_axes(const LazyOpPtr& kernel);

}  // namespace touchstone
