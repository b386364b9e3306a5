#pragma once

#include <string_view>
#include <vector>

#include "touchstone/tensor/tensor.h"

namespace touchstone {

/// Einstein's summation, in the notation of numpy.einsum: letters name axes, "ij,jk->ik"; letters
/// that the result lacks are summed; a letter twice in one operand is its diagonal; "..." stands
/// for axes that broadcast. Without "->" the result has the letters that occur once, in
/// alphabetical order, behind the broadcast ones. Operands are multiplied from left to right, each
/// letter summed after the last operand that has it. bool and narrow integers are summed in 32
/// bits. Throws ShapeError, ParseError naming what is wrong in the notation.
Tensor einsum(std::string_view notation, const std::vector<Tensor>& operands);

}  // namespace touchstone
