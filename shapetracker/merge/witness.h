#pragma once

#include <functional>

#include "touchstone/shapetracker/merge/explain.h"
#include "touchstone/shapetracker/merge/merge_frame.h"

namespace touchstone::shapetracker {

/// Makes witnesses from the points at which a merge failed. at: the address of a point of `outer`.
class WitnessMaker {
 public:
  using Address = std::function<std::optional<std::int64_t>(const Point&)>;
  WitnessMaker(const View& view, const Outer& outer, Address at)
      : view_(view), outer_(outer), at_(std::move(at)) {}

  /// `inside` is valid; candidate.valid is the box of the runs through it.
  void from(const Point& inside, const Candidate& candidate) {
    inside_ = inside;
    candidate_ = candidate;
  }
  /// For a point of the valid box that is invalid or has another address than the candidate.
  Witness disagreement(const Point& point) const;
  /// For a valid point outside the valid box.
  Witness outlier(const Point& point) const;
  /// For an invalid point of the valid box.
  Witness hole(const Point& point) const;
  /// For a candidate beyond 64 bits: its far corner disagrees, or it is no view. low: of the valid
  /// box.
  Witness too_far(const Point& low) const;

 private:
  std::vector<std::int64_t> index(const Point& point) const;
  std::optional<Wide> excess(const Point& point) const;
  Witness bend(const Point& a, const Point& b, const Point& c, const Point& d) const;

  const View& view_;
  const Outer& outer_;
  Address at_;
  Point inside_;
  Candidate candidate_;
};

}  // namespace touchstone::shapetracker
