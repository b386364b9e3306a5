#pragma once

#include <string>
#include <string_view>

namespace touchstone::cuda {

/// The preamble of kernels in C for a GPU, which has no C library: that of codegen/c_preamble.h
/// plus our own SIN of float64 and MOD of floats. sin_f64 errs by less than 0.6 ULP for every
/// argument; remainders are exact.
std::string preamble_without_libm(std::string_view functions);

}  // namespace touchstone::cuda
