#include "touchstone/cuda/cuda_options.h"

namespace touchstone {

CudaOptions CudaOptions::from_environment() {
  const ClangOptions clang = ClangOptions::from_environment();
  CudaOptions options;
  options.compiler = clang.compiler;
  options.compiler_limits = clang.compiler_limits;
  options.cache_dir = clang.cache_dir;
  options.cache_size = clang.cache_size;
  options.codegen.math = clang.codegen.math;
  options.codegen.contract = number_from_environment("TOUCHSTONE_CUDA_FMA", 0, 1) == 1;
  options.device = number_from_environment("TOUCHSTONE_CUDA_DEVICE", 0, 63).value_or(0);
  return options;
}

}  // namespace touchstone
