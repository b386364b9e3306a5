#pragma once

#include <cstdint>
#include <optional>

#include "touchstone/codegen/opts.h"
#include "touchstone/ops/lazy_op.h"
#include "touchstone/uop/linear_kernel.h"

namespace touchstone {

/// Sizes that decide how a kernel is laid out, but no value; as they are, for caches of today.
struct LayoutSizes {
  std::int64_t least_axis = 4;          // elements: an axis with lanes; and terms of its reduces
  std::int64_t vector = 8;              // lane counts are multiples of it
  std::int64_t unit_lanes = 64;         // where neighbours lie side by side: whole vectors
  std::int64_t other_lanes = 32;        // elsewhere: what all of them use is made once
  std::int64_t block_rows = 8;          // that reduce together where they share a load
  std::int64_t block_lanes = 32;        // each of them: accumulators of all stay in registers
  std::int64_t window_vectors = 16;     // of the rows of windows that overlap; accumulators
  std::int64_t written_vectors = 256;   // of their terms
  std::int64_t least_staged = 8;        // elements of an array
  std::int64_t least_reuse = 4;         // rows that share an array with a lane in its index
  std::int64_t least_packed = 16;       // lanes for which a tile is packed
  std::int64_t least_sharing = 8;       // rows for which one is
  std::int64_t tile = 32;               // rows and columns that are read across their order
  std::int64_t least_crosswise = 8;     // elements apart along the columns
  std::int64_t far_bytes = 2048;        // terms so far apart take a place of the TLB each
  std::int64_t staged_bytes = 24576;    // of a kernel: half the first cache
  std::int64_t packed_bytes = 1048576;  // about the second
  std::int64_t past_cache_bytes = 33554432;  // of an output that no cache keeps for the next kernel

  bool operator==(const LayoutSizes&) const = default;
};

/// With these, small kernels take the ways of large ones.
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

/// The order in which the float sums of a kernel meet their terms. It depends on the kernel and
/// this alone, not on the machine, its threads, or other options but merge_axes.
enum class TermOrder : std::uint8_t {
  Source,      // one by one, in row-major order
  RunningSums  // where terms lie side by side, several sums run at a time (running_sums.h)
};

/// How code is made; equal options and kernels give equal code.
struct CodegenOptions {
  bool merge_axes = true;   // neighbouring axes become one loop where all views allow
  bool lanes = true;        // neighbouring outputs reduce side by side (lanes.h)
  bool stages = true;       // values shared by lanes or rows are computed ahead of them (stage.h)
  bool keep_values = true;  // what a reduce and the output both take is kept in the output
  LayoutSizes sizes{};
  MathLevel math = MathLevel::OneUlp;
  TermOrder order = TermOrder::RunningSums;
  /// A product of two float32 or float64 that is the term of a sum of its type is added without
  /// being rounded (LinearKernel::contract).
  bool contract = false;
  std::optional<Opts> opts{};     // none: hand_coded_optimizations (layout.h)
  std::uint64_t layout_seed = 0;  // other than 0, and no opts: drawn_opts, for tests

  bool operator==(const CodegenOptions&) const = default;
};

/// A kernel as loops, laid out by its opts; without any, one for each output axis of a size other
/// than 1, those of each reduce inside them round an accumulator, in row-major order. Work that
/// does not depend on a loop stands before it. Float arithmetic keeps the roundings of the AST, and
/// its sums the declared order. An output without elements gives no code; a reduce of nothing gives
/// its initial value; a masked LOAD does not read. Throws AstError where the kernel or an opt is
/// not valid, DTypeError where it has EXP2, LOG2 or SIN of float64 and these are to be correctly
/// rounded.
LinearKernel linearize(const LazyOpPtr& kernel, const CodegenOptions& options = {});

}  // namespace touchstone
