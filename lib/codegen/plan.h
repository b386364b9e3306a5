#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "touchstone/codegen/lanes.h"
#include "touchstone/codegen/layout.h"
#include "touchstone/codegen/running_sums.h"
#include "touchstone/codegen/tiles.h"

namespace touchstone::codegen {

/// A list of opts that was found to be legal, as the linearizer follows it.
struct Plan {
  LazyOpPtr kernel;  // its axes in order
  std::optional<LanePlan> lanes;
  std::int64_t staged_bytes = 0, packed_bytes = 0;
  std::optional<TilePlan> tiles;
  RunningSums running;
  std::int64_t ahead = 0;  // rounds of running sums, for which memory is asked; 0: none
  std::int64_t unroll = 1;
  struct Peel {
    std::int64_t first = 0, last = 0;
  };
  std::optional<Peel> peel;             // of the last axis of a kernel without reduces and tiles
  std::optional<std::size_t> parallel;  // of the loops that can be shared; none: the best of them

  /// Rows of a block along an axis of the output, which run together; 1 where there is none.
  std::int64_t rows_along(std::size_t axis) const;
  /// Iterations of the loop over an axis, a block of rows each.
  sint loop_size(std::size_t axis) const;
};

inline constexpr std::int64_t kMostAhead = 64;  // prefetch(...)

/// `kernel` as axes_of_opts gives it. Throws AstError where an opt is not legal for it.
Plan make_plan(const LazyOpPtr& kernel, const Opts& opts);

/// Whether a buffer is too large for any cache.
bool goes_past_cache(const BufferSpec& buffer, const LayoutSizes& sizes);

/// The opts of `kernel`, whose `axes` axes_of_opts gave.
Opts hand_coded(const LazyOpPtr& kernel, const LazyOpPtr& axes, const CodegenOptions& options);

Opts drawn(const LazyOpPtr& kernel, const LazyOpPtr& axes, const CodegenOptions& options);

/// hand_coded, those that `options` name, or those of its seed.
Opts chosen_opts(const LazyOpPtr& kernel, const LazyOpPtr& axes, const CodegenOptions& options);

}  // namespace touchstone::codegen
