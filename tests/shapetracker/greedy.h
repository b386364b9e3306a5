// The simplest reduction of a stack: ShapeTracker.simplify must not be longer.
#pragma once

#include "pairs.h"

namespace touchstone::model {

/// Merges the last two views while possible, then stops: tinygrad's simplify, except that every
/// pair is decided by trying all elements, because its own merge misses some.
inline std::vector<View> merge_last_two(std::vector<View> views) {
  while (views.size() >= 2) {
    auto merged = merge_by_enumeration(views[views.size() - 2], views.back());
    if (!merged) break;
    views.pop_back();
    views.back() = std::move(*merged);
  }
  return views;
}

/// Merges neighbours, outermost mergeable pair first, until none merges.
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
