#pragma once

#include "touchstone/shapetracker/merge/merge_search.h"

namespace touchstone::shapetracker {

/// The outermost view as the search sees it: the valid indices of the relevant axes, counted from
/// 0.
struct Outer {
  FlatIndex index;
  Box box;
  Small<std::size_t> axes;     // axis of the view
  Small<std::int64_t> begins;  // first valid index of each

  /// view: concrete, with a valid point.
  explicit Outer(const View& view);
};

/// The valid points if they form a box: [low, high] for each axis of an Outer.
struct Valid {
  Point low, high;
};

/// The only candidate for a single view: base + sum(slopes * (point - low)) on the valid box.
struct Candidate {
  Valid valid;
  std::int64_t base = 0;
  Point slopes;
};

inline bool fits(Wide value) { return value >= INT64_MIN && value <= INT64_MAX; }

}  // namespace touchstone::shapetracker
