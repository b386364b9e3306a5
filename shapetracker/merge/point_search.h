#pragma once

#include "touchstone/shapetracker/merge/merge_search.h"

namespace touchstone::shapetracker {

/// The queries of MergeSearch answered point by point: exact, in time proportional to the outermost
/// view's size.
class PointSearch {
 public:
  using Truth = MergeSearch::Truth;
  using Found = MergeSearch::Found;

  /// views: outermost first, as for MergeSearch.
  PointSearch(const FlatIndex& index, std::span<const FlatView> views)
      : index_(index), views_(views) {}

  Found find(const Box& box);
  Truth is_affine(const Box& box, std::int64_t base, const Point& slopes);
  std::optional<std::int64_t> at(const Point& point) const;
  const Point& counterexample() const { return counterexample_; }
  /// If boxes do not settle a stack without masks, then only because non-affine floors cancel.
  bool carries_cancelled() const;
  int nodes() const { return 0; }

 private:
  const FlatIndex& index_;
  std::span<const FlatView> views_;
  Point counterexample_;
};

/// The address of flat index k through the views, outermost first.
std::optional<std::int64_t> follow_flat(std::span<const FlatView> views, std::int64_t k);

}  // namespace touchstone::shapetracker
