// Finds points that refute a candidate. Off the hot path: runs only on request.
#include "touchstone/shapetracker/merge/merge_search.h"

namespace touchstone::shapetracker {
namespace {

using BoxSteps = std::vector<std::int64_t>;  // along the dims of a box

/// floor((at_low + sum(slopes * z)) / weight) on the points z of a box.
struct Floor {
  std::int64_t at_low;
  const Point& slopes;
  std::int64_t weight;

  std::int64_t operator()(const BoxSteps& z) const {
    Wide value = at_low;
    for (std::size_t i = 0; i < z.size(); ++i) value += static_cast<Wide>(slopes[i]) * z[i];
    return static_cast<std::int64_t>(value / weight);  // not negative inside the box
  }
};

BoxSteps sum(BoxSteps a, const BoxSteps& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

/// The points low, low + one, low + other, low + one + other.
struct Rectangle {
  BoxSteps low, one, other;
};

template <typename Function>
bool bent(const Function& f, const Rectangle& r) {
  return f(r.low) + f(sum(sum(r.low, r.one), r.other)) !=
         f(sum(r.low, r.one)) + f(sum(r.low, r.other));
}

// Two vectors, at least one nonzero, whose sum is `whole`: halves along its only axis, or one axis
// and the rest; nullopt for a single step.
std::optional<std::pair<BoxSteps, BoxSteps>> halves(const BoxSteps& whole) {
  BoxSteps first(whole.size(), 0), rest = whole;
  std::size_t used = 0, axis = 0;
  for (std::size_t i = whole.size(); i-- > 0;)
    if (whole[i] != 0) ++used, axis = i;
  if (used == 1 && whole[axis] == 1) return std::nullopt;
  first[axis] = used > 1 ? whole[axis] : whole[axis] / 2;
  rest[axis] -= first[axis];
  return std::pair(first, rest);
}

// A bent rectangle whose sides are single steps, within a given bent one.
template <typename Function>
Rectangle shrink_to_steps(const Function& f, Rectangle r) {
  for (BoxSteps Rectangle::*side : {&Rectangle::one, &Rectangle::other})
    while (const auto parts = halves(r.*side)) {
      r.*side = parts->first;
      if (bent(f, r)) continue;
      r.low = sum(r.low, parts->first);
      r.*side = parts->second;
    }
  return r;
}

}  // namespace

// Keeps the corner of the box with the highest (or lowest) sum(slopes * z).
void MergeSearch::keep_corner(const Box& box, const Point& slopes, bool highest) {
  counterexample_ = box.low;
  for (std::size_t i = 0; i < box.dims.size(); ++i)
    if ((slopes[i] > 0) == highest)
      counterexample_[box.dims[i].axis] += box.dims[i].step * (box.dims[i].extent - 1);
}

// floor(line / weight) is not affine, and no other floor compensates: some rectangle of single
// steps shows that, and the candidate must fail at one of its corners.
void MergeSearch::keep_bent(const Box& box, const Line& line, std::int64_t weight) {
  const std::size_t rank = box.dims.size();
  const Floor f{line.at_low, line.slopes, weight};
  const Residual rest = residual(line, box, weight);
  const bool highest = rest.max >= weight;
  BoxSteps reached(rank, 0), corner(rank, 0);
  Rectangle found;
  const auto excess = [&](const BoxSteps& z) {  // f minus its extrapolation from the first steps
    Wide value = f(z) - static_cast<Wide>(line.at_low / weight);
    for (std::size_t i = 0; i < rank; ++i) value -= static_cast<Wide>(rest.quotients[i]) * z[i];
    return value;
  };
  for (std::size_t i = 0; i < rank; ++i) {
    if ((rest.slopes[i] > 0) != highest) continue;
    corner[i] = box.dims[i].extent - 1;
    if (excess(corner) == 0) {
      reached = corner;
      continue;
    }
    BoxSteps along(rank, 0), step(rank, 0);
    along[i] = corner[i];
    if (excess(along) == 0) {
      found = {BoxSteps(rank, 0), reached, along};
    } else {  // along this dim alone: the step where the excess begins, and the first step
      step[i] = 1;
      std::int64_t straight = 1, off = corner[i];
      while (off - straight > 1) {
        BoxSteps middle(rank, 0);
        middle[i] = straight + (off - straight) / 2;
        (excess(middle) == 0 ? straight : off) = middle[i];
      }
      along[i] = straight;
      found = {BoxSteps(rank, 0), step, along};
    }
    break;
  }
  found = shrink_to_steps(f, std::move(found));
  for (const BoxSteps& z : {found.low, sum(found.low, found.one), sum(found.low, found.other),
                            sum(sum(found.low, found.one), found.other)}) {
    Point point = box.low;
    for (std::size_t i = 0; i < rank; ++i) point[box.dims[i].axis] += box.dims[i].step * z[i];
    if (!agrees(point)) return;
  }
}

}  // namespace touchstone::shapetracker
