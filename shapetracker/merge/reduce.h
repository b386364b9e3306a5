#pragma once

#include <span>
#include <vector>

#include "touchstone/shapetracker/merge/merge.h"

namespace touchstone::shapetracker {

/// One view for a run of neighbours, innermost first, or nullopt. Some runs are one view though no
/// two neighbours are. Three or more are decided within a budget of boxes.
std::optional<View> merge_run(std::span<const View> run);

/// A stack that says the same with the fewest views found: one where there is one, else the fewest
/// runs of neighbours that are one view each, and then two views for three or more where
/// `as_two_views` finds them. Never longer than merging neighbours from the outermost on leaves it
/// (but that of all pairs and runs only the first few are decided beyond the boxes of a budget).
/// views: innermost first, at least one. Work grows as the number of views.
std::vector<View> reduce_stack(std::vector<View> views);

struct Reduction {
  std::vector<View> views;
  std::optional<MergeResult> whole;  // merge_stack of the stack; where it is concrete
  bool limited = false;   // a search for two views ended at a limit: there may be fewer views
  std::int64_t work = 0;  // of the searches for two views, as TwoViewsFound has it
};
/// The same with what it takes to explain it.
Reduction reduce(std::vector<View> views);

}  // namespace touchstone::shapetracker
