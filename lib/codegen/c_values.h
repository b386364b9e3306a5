#pragma once

#include <span>
#include <string>
#include <string_view>

#include "touchstone/dtype/scalar.h"
#include "touchstone/uop/linear_step.h"
#include "touchstone/uop/math_level.h"

namespace touchstone::codegen {

/// A C expression, and whether it can stand as an operand without parentheses.
struct CText {
  std::string text;
  bool atom = false;

  std::string operand() const { return atom ? text : "(" + text + ")"; }
};

/// The operands of one op, in order.
using COperands = std::span<const CText* const>;

/// The literal of exactly these bits.
CText c_constant(const Scalar& value);
/// `x` converted by the rules of convert<To, From>.
CText c_cast(DType from, DType to, const CText& x);
CText c_bitcast(DType from, DType to, const CText& x);
/// An elementwise op over operands of type `type` (for WHERE: that of its arms).
CText c_alu(Op op, DType type, MathLevel math, COperands src);
CText c_index(IndexOp op, COperands src);

}  // namespace touchstone::codegen
