#pragma once

#include <optional>
#include <span>

#include "touchstone/dtype/scalar.h"
#include "touchstone/ops/op.h"

namespace touchstone {

/// Folds `op` on constants as the reference device computes it. nullopt if the op is not a single
/// IEEE operation (EXP2, LOG2, SIN), if the result is a NaN (its bits depend on the device), or if
/// the type is an 8-bit float.
std::optional<Scalar> fold(Op op, std::span<const Scalar> x);

/// The least value of a type: the identity of MAX.
Scalar least_of(DType dtype);

}  // namespace touchstone
