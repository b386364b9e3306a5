#pragma once

#include <vector>

#include "touchstone/dtype/scalar.h"
#include "touchstone/ops/op.h"

namespace touchstone::fuzz {

/// The values of a type at which implementations part: the simplest first.
const std::vector<Scalar>& edge_values(DType dtype);

/// The identities and the absorbing elements of the operations over a type: 0 of both signs, 1, -1,
/// the ends of an integer type, infinities.
const std::vector<Scalar>& neutral_values(DType dtype);

/// Operands of one operation, in its order.
using Operands = std::vector<Scalar>;

/// The operands on which implementations of `op` over `dtype` part, the most telling first: a NaN
/// beside a number on either side, zeros of both signs, ties, overflow and underflow by little,
/// division by 0, quotients of either sign. WHERE has a bool before them. Empty for movement and
/// reduces, and where `op` does not take `dtype`. `to`: what a CAST gives.
std::vector<Operands> edge_operands(Op op, DType dtype, DType to = DType::Float32);

/// Rows of terms on which implementations of a reduce part, each given by the two values that it
/// holds: `rare` once in the row, `usual` everywhere else.
struct EdgeRow {
  Scalar rare, usual;
};
std::vector<EdgeRow> edge_rows(Op reduce, DType dtype);

}  // namespace touchstone::fuzz
