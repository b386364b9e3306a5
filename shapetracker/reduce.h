#pragma once

#include <span>
#include <vector>

#include "touchstone/shapetracker/view.h"

namespace touchstone::shapetracker {

/// Runs of neighbours longer than this are not looked at, but for the whole stack.
inline constexpr std::size_t kLongestRun = 16;

/// One view for a run of neighbours, innermost first, or nullopt. Some runs are one view though no
/// two neighbours are.
std::optional<View> merge_run(std::span<const View> run);

/// A stack that says the same with the fewest views found: one where there is one, else the fewest
/// runs of neighbours that are one view each, and then two views for three or more where
/// `as_two_views` finds them. Never longer than merging neighbours from the outermost on leaves it.
/// views: innermost first, at least one. Work grows as the number of views.
std::vector<View> reduce_stack(std::vector<View> views);

}  // namespace touchstone::shapetracker
