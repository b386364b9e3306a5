#pragma once

#include <span>

#include "touchstone/lazy/lazy_buffer.h"
#include "touchstone/ops/fold.h"

namespace touchstone::lazy {

using touchstone::fold;
using touchstone::least_of;

/// The equal, bit for bit, of `op` of these checked sources, where it needs no computing: one of
/// them, or a constant. Null elsewhere. x*0 is 0 for integers only: a float may be a NaN,
/// infinite or negative.
LazyBufferPtr folded(Op op, std::span<const LazyBufferPtr> srcs);

}  // namespace touchstone::lazy
