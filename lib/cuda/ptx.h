#pragma once

#include <string>

#include "touchstone/clang/object_cache.h"
#include "touchstone/cuda/cuda_options.h"

namespace touchstone::cuda {

/// PTX of a C file for the given compute capability (90 for 9.0), at most what clang 19 knows.
/// Throws SystemError where there is no such compiler or it fails, with its message, and
/// clang::CompilerLimit where it takes too much.
std::string compile_to_ptx(const std::string& source, int capability, const CudaOptions& options);

/// The same, read from `cache` where the same compiler made it of the same source, and else kept
/// there for the next run.
std::string kept_ptx(clang::ObjectCache& cache, const std::string& source, int capability,
                     const CudaOptions& options);

}  // namespace touchstone::cuda
