#pragma once

#include <optional>
#include <span>

#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone::lazy {

/// `op` of constants, as the reference device computes it. nullopt where it is no single IEEE
/// operation (EXP2, LOG2, SIN), the result is a NaN, whose bits are the device's, or the type is a
/// float of 8 bits.
std::optional<Scalar> fold(Op op, std::span<const Scalar> x);

/// The equal, bit for bit, of `op` of these checked sources, where it needs no computing: one of
/// them, or a constant. Null elsewhere. x*0 is 0 for integers only: a float may be a NaN,
/// infinite or negative.
LazyBufferPtr folded(Op op, std::span<const LazyBufferPtr> srcs);

/// The least value of a type: what MAX leaves alone.
Scalar least_of(DType dtype);

}  // namespace touchstone::lazy
