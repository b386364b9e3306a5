#pragma once

#include <vector>

#include "touchstone/uop/linear_kernel.h"

namespace touchstone::codegen {

/// Where the last loop over an output computes again, element by element, a function or quotient
/// that an earlier loop took for a reduce (the exponentials of a softmax), the earlier loop keeps
/// them in the output, from where the last one reads them. Both loops take the same elements, all
/// of them in each turn of the loops round both. Of each step that results the step of `kernel`
/// that it was, or whose value it stores.
std::vector<int> keep_values_in_output(LinearKernel& kernel);

}  // namespace touchstone::codegen
