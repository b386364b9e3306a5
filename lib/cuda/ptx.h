#pragma once

#include <string>

#include "touchstone/cuda/cuda_options.h"

namespace touchstone::cuda {

/// PTX of a C file for the given compute capability (90 for 9.0), at most what clang 19 knows.
/// Throws SystemError where there is no such compiler or it fails, with its message, and
/// clang::CompilerLimit where it takes too much.
std::string compile_to_ptx(const std::string& source, int capability, const CudaOptions& options);

}  // namespace touchstone::cuda
