#pragma once

#include <cstdint>
#include <optional>

#include "touchstone/codegen/opts.h"
#include "touchstone/ops/lazy_op.h"
#include "touchstone/uop/linear_kernel.h"

namespace touchstone {

/// Sizes that affect layout but not values; the defaults suit current caches.
struct LayoutSizes {
  std::int64_t least_axis = 4;               // elements of a lane axis, and terms of its reduces
  std::int64_t vector = 8;                   // lane counts are multiples of this
  std::int64_t unit_lanes = 64;              // for contiguous loads: whole vectors
  std::int64_t other_lanes = 32;             // for other loads: shared values are computed once
  std::int64_t block_rows = 8;               // rows reduced together if they share a load
  std::int64_t block_lanes = 32;             // lanes of each; all accumulators stay in registers
  std::int64_t window_vectors = 16;          // accumulators of rows with overlapping windows
  std::int64_t written_vectors = 256;        // unrolled terms of such rows
  std::int64_t least_staged = 8;             // elements of an array
  std::int64_t least_reuse = 4;              // rows that share an array with a lane in its index
  std::int64_t least_packed = 16;            // lanes that justify packing a tile
  std::int64_t least_sharing = 8;            // rows that justify packing a tile
  std::int64_t tile = 32;                    // rows and columns of a transposed read
  std::int64_t least_crosswise = 8;          // stride along the columns, in elements
  std::int64_t far_bytes = 2048;             // stride of terms at which each needs a TLB entry
  std::int64_t staged_bytes = 24576;         // per kernel: half the L1 cache
  std::int64_t packed_bytes = 1048576;       // about the L2 cache
  std::int64_t past_cache_bytes = 33554432;  // of an output that no cache keeps

  bool operator==(const LayoutSizes&) const = default;
};

/// Sizes with which small kernels use the code paths of large ones.
inline constexpr LayoutSizes kTinySizes{.least_axis = 2,
                                        .vector = 2,
                                        .unit_lanes = 4,
                                        .other_lanes = 4,
                                        .block_rows = 3,
                                        .block_lanes = 2,
                                        .least_staged = 1,
                                        .least_reuse = 2,
                                        .least_packed = 2,
                                        .least_sharing = 2,
                                        .tile = 3,
                                        .least_crosswise = 2,
                                        .far_bytes = 16,
                                        .staged_bytes = 64,
                                        .packed_bytes = 4096,
                                        .past_cache_bytes = 256};

/// The order in which a kernel's float sums add their terms. The order depends only on the kernel,
/// this option and merge_axes, not on the machine or its threads.
enum class TermOrder : std::uint8_t {
  Source,      // one by one, in row-major order
  RunningSums  // adjacent terms go to several sums in parallel (running_sums.h)
};

/// Options of code generation; equal options and kernels give equal code.
struct CodegenOptions {
  bool merge_axes = true;   // merge adjacent axes into one loop if all views allow
  bool lanes = true;        // reduce adjacent outputs side by side (lanes.h)
  bool stages = true;       // precompute values shared by lanes or rows (stage.h)
  bool keep_values = true;  // keep values used by a reduce and the output in the output
  LayoutSizes sizes{};
  MathLevel math = MathLevel::OneUlp;
  bool libm = true;  // named functions may call the C library
  TermOrder order = TermOrder::RunningSums;
  /// Fuse a float32 or float64 product into the sum of its type without rounding it
  /// (LinearKernel::contract).
  bool contract = false;
  std::optional<Opts> opts{};     // none: hand_coded_optimizations (layout.h)
  std::uint64_t layout_seed = 0;  // nonzero, without opts: drawn_opts, for tests

  bool operator==(const CodegenOptions&) const = default;
};

/// Lowers a kernel to loops laid out by its opts; without any, one loop per output axis of a size
/// other than 1, and inside them each reduce's loops around an accumulator, in row-major order.
/// Work that does not depend on a loop is hoisted. Float arithmetic keeps the AST's roundings, and
/// sums the declared order. An empty output gives no code; an empty reduce gives its initial value;
/// a masked LOAD does not read. Throws AstError for an invalid kernel or opt, DTypeError for EXP2,
/// LOG2 or SIN of float64 if these must be correctly rounded.
LinearKernel linearize(const LazyOpPtr& kernel, const CodegenOptions& options = {});

}  // namespace touchstone
