#pragma once

#include "touchstone/shapetracker/merge/merge_search.h"

namespace touchstone::shapetracker {

/// The outermost view as the search sees it: the valid indices of the axes that matter, from 0.
struct Outer {
  FlatIndex index;
  Box box;
  Small<std::size_t> axes;     // axis of the view
  Small<std::int64_t> begins;  // first valid index there

  /// view: concrete, with a valid point.
  explicit Outer(const View& view);
};

/// The box of valid points if they are a box: [low, high] per axis of an Outer.
struct Valid {
  Point low, high;
};

/// The one candidate for a single view: base + sum(slopes * (point - low)) on the valid box.
struct Candidate {
  Valid valid;
  std::int64_t base = 0;
  Point slopes;
};

inline bool fits(Wide value) { return value >= INT64_MIN && value <= INT64_MAX; }

}  // namespace touchstone::shapetracker
