#pragma once

#include <vector>

#include "touchstone/uop/linear_kernel.h"

namespace touchstone::codegen {

/// If the last loop over an output recomputes, element by element, a function or quotient of an
/// earlier reduce loop (the exponentials of a softmax), the earlier loop stores the values in the
/// output and the last one reads them there. Both loops must visit the same elements, all of them
/// in each iteration of their common loops. Returns, for each new step, the step of `kernel` that
/// it was or whose value it stores.
std::vector<int> keep_values_in_output(LinearKernel& kernel);

}  // namespace touchstone::codegen
