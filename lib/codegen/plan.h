#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "touchstone/codegen/lanes.h"
#include "touchstone/codegen/layout.h"
#include "touchstone/codegen/running_sums.h"
#include "touchstone/codegen/tiles.h"

namespace touchstone::codegen {

/// A validated list of opts in the form the linearizer uses.
struct Plan {
  LazyOpPtr kernel;  // with its axes reordered
  std::optional<LanePlan> lanes;
  std::int64_t staged_bytes = 0, packed_bytes = 0;
  std::optional<TilePlan> tiles;
  RunningSums running;
  std::int64_t ahead = 0;  // prefetch distance in rounds of running sums; 0: none
  std::int64_t unroll = 1;
  struct Peel {
    std::int64_t first = 0, last = 0;
  };
  std::optional<Peel> peel;             // last axis of a kernel without reduces or tiles
  std::optional<std::size_t> parallel;  // among the shareable loops; none: the best one

  /// Rows along an output axis that run together in a block; 1 without a block.
  std::int64_t rows_along(std::size_t axis) const;
  /// Iterations of the loop over an axis, one per block of rows.
  sint loop_size(std::size_t axis) const;
};

inline constexpr std::int64_t kMostAhead = 64;  // prefetch(...)

/// `kernel` as from axes_of_opts. Throws AstError if an opt is illegal for it.
Plan make_plan(const LazyOpPtr& kernel, const Opts& opts);

/// True if a buffer is too large for any cache.
bool goes_past_cache(const BufferSpec& buffer, const LayoutSizes& sizes);

/// The opts of `kernel`; `axes` is from axes_of_opts.
Opts hand_coded(const LazyOpPtr& kernel, const LazyOpPtr& axes, const CodegenOptions& options);

Opts drawn(const LazyOpPtr& kernel, const LazyOpPtr& axes, const CodegenOptions& options);

/// The opts named in `options`, those drawn from its seed, or hand_coded.
Opts chosen_opts(const LazyOpPtr& kernel, const LazyOpPtr& axes, const CodegenOptions& options);

}  // namespace touchstone::codegen
