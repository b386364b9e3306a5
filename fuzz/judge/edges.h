#pragma once

#include <vector>

#include "touchstone/dtype/scalar.h"
#include "touchstone/ops/op.h"

namespace touchstone::fuzz {

/// The values of a type on which implementations differ, the simplest first.
const std::vector<Scalar>& edge_values(DType dtype);

/// The identities and absorbing elements of a type's operations: 0 of both signs, 1, -1, the ends
/// of an integer type, infinities.
const std::vector<Scalar>& neutral_values(DType dtype);

/// Operands of one operation, in order.
using Operands = std::vector<Scalar>;

/// Operands on which implementations of `op` over `dtype` differ, the most revealing first: a NaN
/// on either side of a number, zeros of both signs, ties, narrow overflow and underflow, division
/// by 0, quotients of either sign. WHERE has a leading bool. Empty for movement and reduces, and if
/// `op` does not take `dtype`. `to`: the result type of a CAST.
std::vector<Operands> edge_operands(Op op, DType dtype, DType to = DType::Float32);

/// Rows of terms on which implementations of a reduce differ, given by two values: `rare` once in
/// the row, `usual` everywhere else.
struct EdgeRow {
  Scalar rare, usual;
};
std::vector<EdgeRow> edge_rows(Op reduce, DType dtype);

}  // namespace touchstone::fuzz
