#pragma once

#include "touchstone/shapetracker/limits.h"
#include "touchstone/shapetracker/merge/merge_search.h"

namespace touchstone::shapetracker {

/// The queries of MergeSearch for one inner view, if boxes do not decide whether a box has a valid
/// point. Lists the sorted flat indices of each half of its dims and searches a pair whose sum is
/// inside the mask. Exact; 2^(n/2) steps for n dims of extent 2, whatever the numbers.
class SumSearch {
 public:
  using Truth = MergeSearch::Truth;
  using Found = MergeSearch::Found;

  /// most: maximal list length. nodes: boxes to examine first.
  SumSearch(const FlatIndex& index, std::span<const FlatView> inner, std::int64_t most, int nodes,
            bool keep_evidence)
      : index_(index),
        inner_(inner),
        most_(most),
        quick_(nodes),
        boxes_(index, inner, Limits::kSumBoxes, keep_evidence) {}

  Found find(const Box& box);
  Truth is_affine(const Box& box, std::int64_t base, const Point& slopes);
  std::optional<std::int64_t> at(const Point& point) const { return boxes_.at(point); }
  const Point& counterexample() const { return boxes_.counterexample(); }
  bool carries_cancelled() const { return boxes_.carries_cancelled(); }
  int nodes() const { return nodes_ + boxes_.nodes(); }

 private:
  /// A direction of a box with its flat step made positive; z counts from its low end.
  struct Dim {
    std::int64_t stride;
    std::int64_t extent;
    std::size_t of;  // index of the box's dim
    bool falling;
  };
  using Sums = std::vector<std::int64_t>;

  bool list(std::span<const Dim> dims, Sums& sums) const;
  bool choose(std::span<const Dim> dims, std::int64_t sum, const Box& box, Point& point) const;

  const FlatIndex& index_;
  std::span<const FlatView> inner_;
  std::int64_t most_;
  int quick_;
  MergeSearch boxes_;
  int nodes_ = 0;
};

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

}  // namespace touchstone::shapetracker
