#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "touchstone/clang/clang_options.h"
#include "touchstone/cuda/grid.h"

namespace touchstone {

/// How the CUDA device lays out, compiles and runs.
struct CudaOptions {
  /// clang 19 or later, by name or path, with the target nvptx64; empty: clang-19, then clang.
  std::string compiler;
  process::Limits compiler_limits = ClangOptions{}.compiler_limits;
  /// Whether PTX stays on disk for the next run, where compiled kernels are kept: in `cache_dir`,
  /// at most `cache_size` bytes, as ClangOptions has them.
  bool keep = false;
  std::filesystem::path cache_dir;
  std::uint64_t cache_size = ClangOptions{}.cache_size;
  int opt_level = 2;
  int device = 0;  // of those that the driver counts
  /// Threads of a block, and running sums of a reduce that a block does together at most; powers of
  /// 2 up to 1024.
  int threads = 256;
  CodegenOptions codegen;  // its math, never Library: there is none
  /// With it, or codegen.opts, kernels are laid out so; else by what suits them.
  std::optional<cuda::GridOpts> grid;
  /// Other than 0: layouts are drawn, for tests.
  std::uint64_t layout_seed = 0;

  /// TOUCHSTONE_CC, TOUCHSTONE_MATH, the limits of the compiler and the cache as ClangOptions has
  /// them, TOUCHSTONE_CUDA_FMA (1: codegen.contract) and TOUCHSTONE_CUDA_DEVICE where they are set.
  /// Throws ParseError as ClangOptions does, and where TOUCHSTONE_CUDA_FMA is neither 0 nor 1 or
  /// TOUCHSTONE_CUDA_DEVICE no number from 0 to 63.
  static CudaOptions from_environment();
};

}  // namespace touchstone
