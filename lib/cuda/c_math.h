#pragma once

#include <string>
#include <string_view>

namespace touchstone::cuda {

/// What stands before kernels in C for a GPU, where no C library is: the preamble of
/// codegen/c_preamble.h with SIN of float64 and MOD of floats as code of ours. sin_f64 errs by less
/// than 0.6 ULP for every argument; the remainders are exact, as they always are.
std::string preamble_without_libm(std::string_view functions);

}  // namespace touchstone::cuda
