#pragma once

namespace touchstone::shapetracker {

/// While one lives, movement operations, compose and simplify of this thread merge no views: the
/// stack as it is composed, to show and to count what merging saves. Nests.
class KeepViews {
 public:
  KeepViews() { ++depth_; }
  ~KeepViews() { --depth_; }
  KeepViews(const KeepViews&) = delete;
  KeepViews& operator=(const KeepViews&) = delete;

  static bool active() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace touchstone::shapetracker
