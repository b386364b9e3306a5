#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "touchstone/clang/clang_options.h"
#include "touchstone/cuda/grid.h"

namespace touchstone {

/// Options for layout, compilation and execution on the CUDA device.
struct CudaOptions {
  /// clang 19 or later with the target nvptx64, by name or path; empty: clang-19, then clang.
  std::string compiler;
  process::Limits compiler_limits = ClangOptions{}.compiler_limits;
  /// Keep PTX on disk for the next run, in `cache_dir`, with at most `cache_size` bytes, as in
  /// ClangOptions.
  bool keep = false;
  std::filesystem::path cache_dir;
  std::uint64_t cache_size = ClangOptions{}.cache_size;
  int opt_level = 2;
  int device = 0;  // the driver's device number
  /// Threads per block, and the maximum of running sums that a block computes together; powers of 2
  /// up to 1024.
  int threads = 256;
  CodegenOptions codegen;  // its math is never Library, which GPUs lack
  /// If this or codegen.opts is set, it determines the layout; otherwise the kernel does.
  std::optional<cuda::GridOpts> grid;
  /// Nonzero: random layouts, for tests.
  std::uint64_t layout_seed = 0;

  /// Reads TOUCHSTONE_CC, TOUCHSTONE_MATH, and the limits of the compiler and cache as ClangOptions
  /// does, TOUCHSTONE_CUDA_FMA (0 or 1: codegen.contract) and TOUCHSTONE_CUDA_DEVICE (0 to 63).
  /// Throws ParseError as ClangOptions does and for other values of the latter two.
  static CudaOptions from_environment();
};

}  // namespace touchstone
