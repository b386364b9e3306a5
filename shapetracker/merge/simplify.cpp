#include "touchstone/shapetracker/merge/simplify.h"

#include <algorithm>

#include "touchstone/shapetracker/limits.h"
#include "touchstone/shapetracker/merge/reduce.h"

namespace touchstone {
namespace {

// Merges the last `length` views in place; false if they are not one view.
bool merge_last(std::vector<View>& views, std::size_t length) {
  const std::size_t begin = views.size() - length;
  std::optional<View> merged = shapetracker::merge_run(std::span(views).subspan(begin));
  if (!merged) return false;
  views.resize(begin + 1);
  views.back() = std::move(*merged);
  return true;
}

}  // namespace

ShapeTracker simplify(const ShapeTracker& tracker) {
  if (tracker.views().size() == 1) return tracker;
  return ShapeTracker::trusted(shapetracker::reduce_stack(tracker.views()));
}

ShapeTracker merge_outermost(const ShapeTracker& tracker) {
  if (tracker.views().size() == 1) return tracker;
  std::vector<View> views = tracker.views();
  for (std::size_t length = 2; length <= std::min(views.size(), shapetracker::Limits::kLongestRun);
       ++length)
    if (merge_last(views, length)) length = 1;
  if (views.size() > shapetracker::Limits::kLongestRun) merge_last(views, views.size());
  return ShapeTracker::trusted(std::move(views));
}

}  // namespace touchstone
