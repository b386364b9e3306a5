#pragma once

#include <span>

#include "touchstone/lazy/lazy_buffer.h"
#include "touchstone/ops/fold.h"

namespace touchstone::lazy {

/// Returns a source or constant that equals `op` of these checked sources bit for bit; null if
/// there is none. x*0 is 0 only for integers: a float may be NaN, infinite or negative.
LazyBufferPtr folded(Op op, std::span<const LazyBufferPtr> srcs);

}  // namespace touchstone::lazy
