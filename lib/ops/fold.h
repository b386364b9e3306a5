#pragma once

#include <optional>
#include <span>

#include "touchstone/dtype/scalar.h"
#include "touchstone/ops/op.h"

namespace touchstone {

/// `op` of constants, as the reference device computes it. nullopt where it is no single IEEE
/// operation (EXP2, LOG2, SIN), the result is a NaN, whose bits are the device's, or the type is a
/// float of 8 bits.
std::optional<Scalar> fold(Op op, std::span<const Scalar> x);

/// The least value of a type: what MAX leaves alone.
Scalar least_of(DType dtype);

}  // namespace touchstone
