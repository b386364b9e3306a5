#pragma once

#include "touchstone/ops/lazy_op.h"

namespace touchstone {

/// The same kernel over fewer axes: axes of size 1 go, neighbours become one where every reduce
/// takes both or neither and every view can say the two as one. Elements, and the order in which a
/// reduce meets its terms, stay as they are. Concrete sizes only; others stay.
LazyOpPtr merge_axes(const LazyOpPtr& kernel);

}  // namespace touchstone
