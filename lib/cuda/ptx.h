#pragma once

#include <string>

#include "touchstone/clang/object_cache.h"
#include "touchstone/cuda/cuda_options.h"

namespace touchstone::cuda {

/// Compiles C to PTX for a compute capability (90 for 9.0), at most what clang 19 supports. Throws
/// SystemError with the message if there is no such compiler or it fails, and clang::CompilerLimit
/// if it exceeds a limit.
std::string compile_to_ptx(const std::string& source, int capability, const CudaOptions& options);

/// As compile_to_ptx, using `cache` for results of the same compiler and source.
std::string kept_ptx(clang::ObjectCache& cache, const std::string& source, int capability,
                     const CudaOptions& options);

}  // namespace touchstone::cuda
