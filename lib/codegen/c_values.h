#pragma once

#include <span>
#include <string>
#include <string_view>

#include "touchstone/dtype/scalar.h"
#include "touchstone/uop/linear_step.h"
#include "touchstone/uop/math_level.h"

namespace touchstone::codegen {

/// A C expression, and whether it needs no parentheses as an operand.
struct CText {
  std::string text;
  bool atom = false;

  std::string operand() const { return atom ? text : "(" + text + ")"; }
};

/// The operands of one op, in order.
using COperands = std::span<const CText* const>;

/// A literal with exactly these bits.
CText c_constant(const Scalar& value);
/// Converts `x` as convert<To, From> does.
CText c_cast(DType from, DType to, const CText& x);
CText c_bitcast(DType from, DType to, const CText& x);
/// An elementwise op on operands of type `type` (for WHERE: of its arms).
CText c_alu(const LinearStep& u, DType type, MathLevel math, COperands src);
CText c_alu(Op op, DType type, MathLevel math, COperands src);
CText c_index(IndexOp op, COperands src);

}  // namespace touchstone::codegen
