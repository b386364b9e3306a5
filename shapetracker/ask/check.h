#pragma once

#include <span>
#include <string>
#include <vector>

#include "touchstone/shapetracker/limits.h"
#include "touchstone/shapetracker/merge/explain.h"

namespace touchstone::shapetracker {

/// Checks of answers that only evaluate views at points; they share no code with the search.
struct Check {
  bool accepted;
  bool complete;     // every point was checked, or the witness is decisive
  std::string text;  // the disagreement, if not accepted
};

/// Address of the stack (innermost first, concrete) at an index of its outermost view; nullopt for
/// padding. Throws ShapeError if the index is outside the shape or a view leaves the one below it.
std::optional<std::int64_t> evaluate(std::span<const View> views,
                                     std::span<const std::int64_t> index);

/// Tests that no single view can have the validity and addresses of the stack at the witness'
/// points. Accepted proves that there is no such view.
Check check_witness(std::span<const View> views, const Witness& witness);

/// Compares `single` with the stack: at every point if there are at most `most`, else at corners
/// and evenly spread points.
Check check_view(std::span<const View> views, const View& single,
                 std::int64_t most = Limits::kCheckPoints);

/// Checks the view or witness of an explanation; an over-budget one claims nothing.
Check check(std::span<const View> views, const Explanation& explanation,
            std::int64_t most = Limits::kCheckPoints);

}  // namespace touchstone::shapetracker
