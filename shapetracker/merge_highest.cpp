// The largest address a stack reads.
#include <algorithm>

#include "touchstone/shapetracker/merge_frame.h"

namespace touchstone::shapetracker {

// No point of the box has a larger address.
std::int64_t MergeSearch::reach(const Box& box) const {
  const Line along = line(box);
  std::int64_t first = along.at_low, last = first;
  for (std::size_t i = 0; i < box.dims.size(); ++i) {
    const std::int64_t reach = along.slopes[i] * (box.dims[i].extent - 1);
    (reach < 0 ? first : last) += reach;
  }
  if (views_.size() == 1) return views_[0].highest(first, last);
  const std::int64_t between = views_[0].highest(first, last);
  std::int64_t bound = between;
  for (std::size_t v = 1; v < views_.size(); ++v) {
    if (bound < 0) return INT64_MIN;
    bound = views_[v].highest(0, std::min(bound, views_[v].size() - 1));
  }
  return bound;
}

MergeSearch::Highest MergeSearch::highest(const Box& root) {
  Highest best{Truth::No, INT64_MIN};
  const auto offer = [&](const Point& point) {
    const std::optional<std::int64_t> address = at(point);
    if (address && (best.truth == Truth::No || *address > best.address))
      best = {Truth::Yes, *address};
  };
  std::vector<Box> boxes{root};
  while (!boxes.empty()) {
    Box box = std::move(boxes.back());
    boxes.pop_back();
    if (best.truth == Truth::Yes && reach(box) <= best.address) continue;
    if (++nodes_ > budget_) return {Truth::Unknown, 0};
    Line along = line(box);
    Stop stop = narrow_through(box, along);
    if (stop.step == Step::Dropped) continue;
    if (stop.step == Step::Settled)
      if (const std::int64_t span = descend(views_.back(), box, along)) stop = {Step::Open, span};
    if (stop.step == Step::Settled) {  // the address is affine on the box, all of it valid
      Point point = box.low;
      for (std::size_t i = 0; i < box.dims.size(); ++i)
        if (along.slopes[i] > 0)
          point[static_cast<std::size_t>(box.dims[i].axis)] +=
              box.dims[i].step * (box.dims[i].extent - 1);
      offer(point);
      continue;
    }
    offer(box.low);
    if (box.dims.empty()) continue;
    split(box, along, stop.weight, boxes);
  }
  return best;
}

}  // namespace touchstone::shapetracker
