// The plainest way to reduce a stack: what ShapeTracker.simplify has to be no longer than.
#pragma once

#include "pairs.h"

namespace touchstone::model {

/// The last two views merged as long as they are one, then left: as tinygrad's simplify goes about
/// it, but with every pair decided by trying all elements, where its own merge misses some.
inline std::vector<View> merge_last_two(std::vector<View> views) {
  while (views.size() >= 2) {
    auto merged = merge_by_enumeration(views[views.size() - 2], views.back());
    if (!merged) break;
    views.pop_back();
    views.back() = std::move(*merged);
  }
  return views;
}

/// Any two neighbours merged, the outermost that are one first, until no two are.
inline std::vector<View> merge_neighbours(std::vector<View> views) {
  for (std::size_t i = views.size() - 1; i-- > 0;) {
    auto merged = merge_by_enumeration(views[i], views[i + 1]);
    if (!merged) continue;
    views[i] = std::move(*merged);
    views.erase(views.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    i = views.size() - 1;
  }
  return views;
}

}  // namespace touchstone::model
