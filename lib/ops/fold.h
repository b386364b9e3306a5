#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "touchstone/dtype/scalar.h"
#include "touchstone/ops/op.h"

namespace touchstone {

/// Folds `op` on constants as the reference device computes it. nullopt if the op is not a single
/// IEEE operation (EXP2, LOG2, SIN, FUNCTION), if the result is a NaN (its bits depend on the
/// device), or if the type is an 8-bit float.
std::optional<Scalar> fold(Op op, std::span<const Scalar> x);

/// The least value of a type: the identity of MAX.
Scalar least_of(DType dtype);

/// An op of two operands that equals one of them, or a constant, bit for bit, whatever the first
/// is: where the second is a certain constant, or equals the first.
struct Law {
  enum class Second : std::uint8_t { Zero, MinusZero, One, Least, Greatest, Same };
  enum class Gives : std::uint8_t { First, Second, Zero, True };
  std::string_view name;
  Op op;
  bool (*of)(DType);  // the types of the operands
  Second second;
  Gives gives;
  std::string_view why;
  bool turned = false;  // the constant comes first

  /// The constant operand.
  Scalar constant(DType operands) const;
  /// The constant result, for Gives::Zero and Gives::True.
  Scalar result(DType operands) const;
};
std::span<const Law> laws();

}  // namespace touchstone
