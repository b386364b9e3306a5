#pragma once

#include <span>
#include <string>
#include <vector>

#include "touchstone/shapetracker/limits.h"
#include "touchstone/shapetracker/merge/explain.h"

namespace touchstone::shapetracker {

/// Checks answers by evaluating views at points, and by nothing else: it shares no code with the
/// search that gave them.
struct Check {
  bool accepted;
  bool complete;     // every point was looked at, or the witness settles it
  std::string text;  // the disagreement, where not accepted
};

/// Address of the stack (innermost first, concrete) at an index of its outermost view, or nullopt
/// where padding is read. Throws ShapeError where the index is outside or a view leaves the one
/// below it.
std::optional<std::int64_t> evaluate(std::span<const View> views,
                                     std::span<const std::int64_t> index);

/// Whether no single view can have the validity and addresses the stack has at the witness' points.
/// A proof: accepted means that there is no such view.
Check check_witness(std::span<const View> views, const Witness& witness);

/// Whether `single` says what the stack says: at every point where there are at most `most`, else
/// at corners and points spread evenly.
Check check_view(std::span<const View> views, const View& single,
                 std::int64_t most = Limits::kCheckPoints);

/// The view or the witness of an explanation; one that is over budget claims nothing.
Check check(std::span<const View> views, const Explanation& explanation,
            std::int64_t most = Limits::kCheckPoints);

}  // namespace touchstone::shapetracker
