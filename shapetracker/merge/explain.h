#pragma once

#include "touchstone/shapetracker/merge/merge.h"

namespace touchstone::shapetracker {

/// Why a stack is one view. Where several hold, the last one named here that does.
enum class MergeClass : std::uint8_t {
  OneView,      // it has one view, or its outermost view has no valid point
  Empty,        // nothing is valid
  Coalesced,    // below the outermost, every view is one digit: any view of it is a view
  LevelAffine,  // every floor(k / weight) that matters is affine on the indices
  Masked,       // so it is inside the masks, and the valid indices are a box
  CarryCancel,  // floors that are not affine cancel each other
};
const char* name(MergeClass reason);  // "level-affine"

/// Indices of the outermost view whose validity and addresses no single view can have. `refutes`
/// (check.h) holds them against the stack.
struct Witness {
  enum class Kind : std::uint8_t {
    /// The last point is not valid though it lies in the box round the others, which are: the valid
    /// indices of a view are a box. At most 2 * rank + 1 points.
    Hole,
    /// Four valid points a, b, c, d with b - a = d - c whose addresses differ by unequal amounts.
    Bend,
    /// A valid point: the view through it and its valid neighbours, the only one there can be, has
    /// an offset or a stride beyond 64 bits.
    TooFar,
    /// The stack has rank 0 and its only point is not valid: there is no axis to mask.
    NoAxis,
  };
  Kind kind;
  std::vector<std::vector<std::int64_t>> points;

  std::string str() const;
};

/// The answer of merge_stack and its reason.
struct Explanation {
  MergeResult result;
  std::optional<MergeClass> reason;  // where merged
  std::optional<Witness> witness;    // where no such view exists

  /// One line: "merged (level-affine): View(...)", "no single view: ...", "over budget: ...".
  std::string str() const;
};

/// merge_stack with its reasons. Takes longer than merge_stack, the answer is the same.
Explanation explain_merge(std::span<const View> views, const MergeBudget& budget = {});
/// The same for a stack that merge_stack answered with `known`: takes at most the boxes of the
/// budget, not what it took to decide beyond them.
Explanation explain_merge(std::span<const View> views, const MergeResult& known);

}  // namespace touchstone::shapetracker
