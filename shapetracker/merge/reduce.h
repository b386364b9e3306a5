#pragma once

#include <span>
#include <vector>

#include "touchstone/shapetracker/merge/merge.h"

namespace touchstone::shapetracker {

/// One view for a run of neighbours, innermost first, or nullopt. A run may be one view even if no
/// two neighbours are. Three or more are decided within the box budget.
std::optional<View> merge_run(std::span<const View> run);

/// An equivalent stack with the fewest views found: one if possible, else the fewest runs of
/// neighbours that are one view each, then two views for three or more where `as_two_views` finds
/// them. Never longer than merging neighbours from the outermost on (but only the first few pairs
/// and runs are decided beyond the box budget).
/// views: innermost first, at least one. Work is linear in the number of views.
std::vector<View> reduce_stack(std::vector<View> views);

struct Reduction {
  std::vector<View> views;
  std::optional<MergeResult> whole;  // merge_stack of the whole stack, if concrete
  bool limited = false;              // a search for two views hit a limit: fewer views may exist
  std::int64_t work = 0;             // of the searches for two views, as in TwoViewsFound
};
/// reduce_stack with the data for an explanation.
Reduction reduce(std::vector<View> views);

}  // namespace touchstone::shapetracker
