#pragma once

#include <string_view>
#include <vector>

#include "touchstone/tensor/tensor.h"

namespace touchstone {

/// Einstein summation in the notation of numpy.einsum: letters name axes, "ij,jk->ik"; letters
/// missing in the result are summed; a letter repeated in one operand takes its diagonal; "..."
/// stands for broadcast axes. Without "->" the result has the broadcast axes, then the letters that
/// occur once, in alphabetical order. Operands are multiplied from left to right; each letter is
/// summed after the last operand that has it. bool and narrow integers are summed in 32 bits.
/// Throws ShapeError, or ParseError for the notation.
Tensor einsum(std::string_view notation, const std::vector<Tensor>& operands);

}  // namespace touchstone
