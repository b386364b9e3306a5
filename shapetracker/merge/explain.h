#pragma once

#include <functional>

#include "touchstone/shapetracker/merge/merge.h"
#include "touchstone/shapetracker/merge/merge_search.h"

namespace touchstone::shapetracker {

/// Why a stack is one view. If several apply, the last one listed.
enum class MergeClass : std::uint8_t {
  OneView,      // a single view, or the outermost view has no valid point
  Empty,        // nothing is valid
  Coalesced,    // below the outermost, every view is one digit: any view on it is one view
  LevelAffine,  // every relevant floor(k / weight) is affine in the indices
  Masked,       // the same inside the masks, and the valid indices are a box
  CarryCancel,  // non-affine floors cancel
};
const char* name(MergeClass reason);  // "level-affine"

/// Indices of the outermost view whose validity and addresses no single view can have.
/// check_witness (check.h) verifies it against the stack.
struct Witness {
  enum class Kind : std::uint8_t {
    /// The last point is invalid but lies in the box around the others, which are valid: the valid
    /// indices of a view form a box. At most 2 * rank + 1 points.
    Hole,
    /// Four valid points a, b, c, d with b - a = d - c and unequal address differences.
    Bend,
    /// A valid point: the only candidate view through it and its valid neighbours has an offset or
    /// stride beyond 64 bits.
    TooFar,
    /// The stack has rank 0 and its only point is invalid: there is no axis to mask.
    NoAxis,
  };
  Kind kind;
  std::vector<std::vector<std::int64_t>> points;

  std::string str() const;
};

/// The answer of merge_stack with its reason.
struct Explanation {
  MergeResult result;
  std::optional<MergeClass> reason;  // if merged
  std::optional<Witness> witness;    // if no such view exists

  /// One line: "merged (level-affine): View(...)", "no single view: ...", "over budget: ...".
  std::string str() const;
};

/// merge_stack with reasons: the same answer, slower.
Explanation explain_merge(std::span<const View> views, const MergeBudget& budget = {});
/// Explains the answer `known` of merge_stack. Uses at most the budget's boxes, however long the
/// decision took.
Explanation explain_merge(std::span<const View> views, const MergeResult& known);

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
