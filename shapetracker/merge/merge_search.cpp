#include "touchstone/shapetracker/merge/merge_search.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "touchstone/base/checked.h"
#include "touchstone/shapetracker/limits.h"

namespace touchstone::shapetracker {
namespace {

Point high_corner(const Box& box) {
  Point point = box.low;
  for (const BoxDim& dim : box.dims) point[dim.axis] += dim.step * (dim.extent - 1);
  return point;
}

}  // namespace

MergeSearch::Residual MergeSearch::residual(const Line& line, const Box& box, std::int64_t weight) {
  Residual result{line.at_low % weight, {}, {}, 0, 0, false};
  result.min = result.max = result.at_low;
  const std::int64_t quotient = line.at_low / weight;
  for (std::size_t i = 0; i < box.dims.size(); ++i) {
    // The neighbour is a point of the box, so its value is nonnegative.
    const std::int64_t step = (line.at_low + line.slopes[i]) / weight - quotient;
    const std::int64_t slope = line.slopes[i] - weight * step;
    const Wide reach = static_cast<Wide>(slope) * (box.dims[i].extent - 1);
    (reach < 0 ? result.min : result.max) += reach;
    result.slopes.push_back(slope);
    result.quotients.push_back(step);
  }
  result.affine = result.min >= 0 && result.max < weight;
  return result;
}

MergeSearch::Line MergeSearch::line(const Box& box) const {
  Line line{index_.at(box.low), {}};
  for (const BoxDim& dim : box.dims) line.slopes.push_back(index_.slope(dim));
  return line;
}

std::optional<std::int64_t> MergeSearch::at(const Point& point) const {
  return follow_flat(views_, index_.at(point));
}

std::optional<std::int64_t> follow_flat(std::span<const FlatView> views, std::int64_t k) {
  for (const FlatView& view : views)
    if (!view.descend(k)) return std::nullopt;
  return k;
}

// Restricts z to [first, last] along one dim; an extent of 1 may remain. True if anything changed.
bool MergeSearch::narrow(std::size_t dim, std::int64_t first, std::int64_t last, Box& box,
                         Line& line) {
  BoxDim& d = box.dims[dim];
  if (first <= 0 && last >= d.extent - 1) return false;
  first = std::max<std::int64_t>(first, 0);
  last = std::min(last, d.extent - 1);
  box.low[d.axis] += d.step * first;
  line.at_low += line.slopes[dim] * first;
  d.extent = last - first + 1;  // 0 or less: empty
  return true;
}

// Narrows the box to where `residual` (of the level's span) can be inside the level's mask.
MergeSearch::Step MergeSearch::tighten_level(const Level& level, const Residual& residual, Box& box,
                                             Line& line) {
  std::int64_t low = level.low(), high = level.high();
  if (!residual.affine) {
    std::int64_t unit = level.span;
    for (const std::int64_t slope : line.slopes) unit = std::gcd(unit, slope);
    const std::int64_t first = low + floor_mod(line.at_low - low, unit);
    return first > high ? Step::Dropped : Step::Open;
  }
  auto min = static_cast<std::int64_t>(residual.min), max = static_cast<std::int64_t>(residual.max);
  if (max < low || min > high) return Step::Dropped;
  if (low <= min && max <= high) return Step::Settled;
  std::int64_t unit = 0;
  for (const std::int64_t slope : residual.slopes) unit = std::gcd(unit, slope);
  assert(unit > 0);  // the range is not a point
  low += floor_mod(residual.at_low - low, unit);
  high -= floor_mod(high - residual.at_low, unit);
  if (low > high) return Step::Dropped;
  for (std::size_t i = 0; i < box.dims.size(); ++i) {
    const std::int64_t slope = residual.slopes[i], reach = slope * (box.dims[i].extent - 1);
    if (slope == 0) continue;
    // With the other dims at their extremes: low <= rest + slope * z <= high, z counted from the
    // end of the dim with the smallest residual.
    const std::int64_t rest_min = min, rest_max = max - std::abs(reach);
    const std::int64_t size = std::abs(slope);
    const std::int64_t from = ceil_div(std::max<std::int64_t>(low - rest_max, 0), size);
    const std::int64_t to =
        high < rest_min ? -1 : std::min((high - rest_min) / size, box.dims[i].extent - 1);
    if (from > to) return Step::Dropped;
    min += size * from;
    max -= size * (box.dims[i].extent - 1 - to);
    const std::int64_t last = box.dims[i].extent - 1;
    narrow(i, slope > 0 ? from : last - to, slope > 0 ? to : last - from, box, line);
  }
  return low <= min && max <= high ? Step::Settled : Step::Open;
}

MergeSearch::Stop MergeSearch::tighten(const FlatView& view, Box& box, Line& line) {
  Stop stop{Step::Settled};
  // Each round only shrinks the box; a few suffice, splitting does the rest.
  for (int round = 0; round < 4; ++round) {
    stop = {Step::Settled};
    bool open_is_affine = false;
    const std::int64_t before = line.at_low;
    Wide extents = 0;
    for (const BoxDim& dim : box.dims) extents += dim.extent;
    for (const Level& level : view.levels()) {
      if (!level.cut()) continue;
      const Residual rest = residual(line, box, level.span);
      const Step step = tighten_level(level, rest, box, line);
      if (step == Step::Dropped) return {step};
      for (std::size_t i = box.dims.size(); i-- > 0;)
        if (box.dims[i].extent == 1) {
          box.dims.erase(box.dims.begin() + static_cast<std::ptrdiff_t>(i));
          line.slopes.erase(line.slopes.begin() + static_cast<std::ptrdiff_t>(i));
        }
      if (step == Step::Open && (stop.step == Step::Settled || (open_is_affine && !rest.affine))) {
        stop = {Step::Open, level.span};
        open_is_affine = rest.affine;
      }
    }
    for (const BoxDim& dim : box.dims) extents -= dim.extent;
    if (stop.step == Step::Settled || (extents == 0 && before == line.at_low)) break;
  }
  return stop;
}

// Replaces the index into `view` by the address, or returns the span where it is not affine.
std::int64_t MergeSearch::descend(const FlatView& view, const Box& box, Line& line) {
  Line next{*view.at(line.at_low), Point(line.slopes.size(), 0)};
  if (!view.levels().empty())
    for (std::size_t i = 0; i < line.slopes.size(); ++i)
      next.slopes[i] =
          static_cast<std::int64_t>(wrap(view.levels()[0].stride) * wrap(line.slopes[i]));
  for (const Level& level : view.levels()) {
    if (level.jump == 0) continue;
    const Residual rest = residual(line, box, level.span);
    if (!rest.affine) return level.span;
    for (std::size_t i = 0; i < line.slopes.size(); ++i)
      next.slopes[i] = static_cast<std::int64_t>(
          wrap(next.slopes[i]) + static_cast<std::uint64_t>(level.jump) * wrap(rest.quotients[i]));
  }
  line = std::move(next);
  return 0;
}

// The number of steps of a dim that stay on the low corner's side of `bound` (in the residual), if
// no other dim moves the residual; otherwise half of the dim.
std::int64_t MergeSearch::steps_to(std::int64_t bound, const Residual& rest, const Box& box,
                                   std::size_t dim) {
  const std::int64_t extent = box.dims[dim].extent, slope = rest.slopes[dim];
  for (std::size_t i = 0; i < box.dims.size(); ++i)
    if (i != dim && rest.slopes[i] != 0) return extent / 2;
  if (slope == 0) return extent / 2;
  const std::int64_t steps =
      slope > 0 ? ceil_div(bound - rest.at_low, slope) : (rest.at_low - bound) / -slope + 1;
  return steps > 0 && steps < extent ? steps : extent / 2;
}

// Splits one dim into two (or three): by digits if a whole number of its steps is a multiple of the
// weight, so that one part no longer carries; otherwise at the carry, or the dim that carries most
// in half.
void MergeSearch::split(const Box& box, const Line& line, Border border, std::vector<Box>& boxes) {
  const std::int64_t weight = border.weight;
  const Residual rest = residual(line, box, weight);
  std::size_t best = 0;
  std::int64_t period = 0;
  Wide most = -1;
  for (std::size_t i = 0; i < box.dims.size(); ++i) {
    const std::int64_t unit = weight / std::gcd(weight, line.slopes[i]);
    const bool digits = unit > 1 && unit < box.dims[i].extent;
    const Wide reach = static_cast<Wide>(std::abs(rest.slopes[i])) * (box.dims[i].extent - 1);
    if (digits < (period > 0) || (digits == (period > 0) && reach <= most)) continue;
    best = i;
    period = digits ? unit : 0;
    most = reach;
  }
  const BoxDim dim = box.dims[best];
  const auto resize = [&](Box& part, std::int64_t first, std::int64_t extent) {
    part.low[dim.axis] += dim.step * first;
    part.dims[best].extent = extent;
    if (extent == 1) part.dims.erase(part.dims.begin() + static_cast<std::ptrdiff_t>(best));
  };
  Box first = box, second = box;
  if (period == 0) {
    const std::int64_t bound = border.bound != 0       ? border.bound
                               : rest.slopes[best] > 0 ? weight
                                                       : 0;
    const std::int64_t cut = steps_to(bound, rest, box, best);
    resize(first, 0, cut);
    resize(second, cut, dim.extent - cut);
    boxes.push_back(std::move(second));
  } else {
    const std::int64_t turns = dim.extent / period, left = dim.extent % period;
    first.dims[best].extent = period;
    if (turns > 1) first.dims.push_back({dim.axis, dim.step * period, turns});
    if (left > 0) {
      resize(second, turns * period, left);
      boxes.push_back(std::move(second));
    }
  }
  boxes.push_back(std::move(first));
}

MergeSearch::Course MergeSearch::follow(const Box& box) const {
  Course course{Step::Settled, line(box)};
  for (const FlatView& view : views_) {
    for (const Level& level : view.levels()) {
      if (!level.cut()) continue;
      const Residual rest = residual(course.line, box, level.span);
      if (rest.affine && (rest.max < level.low() || rest.min > level.high()))
        return {Step::Dropped, {}};
      if (!rest.affine || rest.min < level.low() || rest.max > level.high()) {
        const bool from_below = rest.at_low < level.low();
        course.step = Step::Open;
        course.border.weight = level.span;
        course.border.bound = !rest.affine ? 0 : from_below ? level.low() : level.high() + 1;
      }
    }
    if (course.step == Step::Open) return course;
    if (const std::int64_t span = descend(view, box, course.line))
      return {Step::Open, std::move(course.line), {span}};
  }
  return course;
}

// Narrows the box by the masks of each view it passes.
MergeSearch::Stop MergeSearch::narrow_through(Box& box, Line& line) const {
  for (std::size_t v = 0; v < views_.size(); ++v) {
    const Stop stop = tighten(views_[v], box, line);
    if (stop.step != Step::Settled || v + 1 == views_.size()) return stop;
    if (const std::int64_t span = descend(views_[v], box, line)) return {Step::Open, span};
  }
  return {Step::Settled};
}

MergeSearch::Found MergeSearch::find(Box box) {
  std::vector<Box> boxes;
  for (;;) {
    if (++nodes_ > budget_) return {Truth::Unknown, {}};
    Line along = line(box);
    const Stop stop = narrow_through(box, along);
    if (stop.step != Step::Dropped) {
      if (stop.step == Step::Settled || at(box.low)) return {Truth::Yes, box.low};
      if (const Point high = high_corner(box); at(high)) return {Truth::Yes, high};
      if (!box.dims.empty()) split(box, along, {stop.weight}, boxes);
    }
    if (boxes.empty()) return {Truth::No, {}};
    box = std::move(boxes.back());
    boxes.pop_back();
  }
}

bool MergeSearch::agrees(const Point& point) {
  const std::optional<std::int64_t> address = at(point);
  std::uint64_t wanted = wrap(base_);
  for (std::size_t axis = 0; axis < point.size(); ++axis)
    wanted += wrap(slopes_[axis]) * wrap(point[axis] - origin_[axis]);
  if (address && wrap(*address) == wanted) return true;
  if (keep_evidence_) counterexample_ = point;
  return false;
}

// Tests far ends and middles of dims and of pairs of dims, which refute most refutable candidates.
bool MergeSearch::agrees_at_samples(const Box& box) {
  Point point = box.low;
  const auto reach = [](const BoxDim& dim, bool far) {
    return dim.step * (far ? dim.extent - 1 : dim.extent / 2);
  };
  const auto coordinate = [&](const BoxDim& dim) -> std::int64_t& { return point[dim.axis]; };
  for (std::size_t i = 0; i < box.dims.size(); ++i)
    for (const bool far : {true, false}) {
      const BoxDim& one = box.dims[i];
      coordinate(one) += reach(one, far);
      if (!agrees(point)) return false;
      for (std::size_t j = 0; j < i; ++j) {
        const BoxDim& other = box.dims[j];
        coordinate(other) += reach(other, far);
        if (!agrees(point)) return false;
        coordinate(other) -= reach(other, far);
      }
      coordinate(one) -= reach(one, far);
    }
  return true;
}

// Every unit second difference of floor(k / span) is -1, 0 or 1, so non-affine floors can give an
// affine address only if each jump occurs in a relation sum(e_i * jump_i) = 0 with e_i in {-1, 0,
// 1}. Sums are taken mod 2^128: a false relation only costs a split. Returns a jump in no relation.
std::optional<std::size_t> MergeSearch::carry_alone(std::span<const Wide> jumps) {
  if (jumps.size() > Limits::kCarryJumps) return std::nullopt;  // split instead
  __extension__ using Bits = unsigned __int128;
  std::vector<bool> related(jumps.size(), false);
  std::size_t count = 1;
  for (std::size_t i = 0; i < jumps.size(); ++i) count *= 3;
  for (std::size_t code = 1; code < count; ++code) {
    Bits sum = 0;
    std::size_t rest = code;
    for (const Wide jump : jumps) {
      if (rest % 3 == 1) sum += static_cast<Bits>(jump);
      if (rest % 3 == 2) sum -= static_cast<Bits>(jump);
      rest /= 3;
    }
    if (sum != 0) continue;
    rest = code;
    for (std::size_t i = 0; i < jumps.size(); ++i, rest /= 3)
      if (rest % 3 != 0) related[i] = true;
  }
  const auto alone = std::ranges::find(related, false);
  if (alone == related.end()) return std::nullopt;
  return static_cast<std::size_t>(alone - related.begin());
}

// Settled: the candidate holds on the box. Dropped: it does not.
MergeSearch::Stop MergeSearch::match(const Box& box, Line& line) {
  for (std::size_t v = 0; v < views_.size(); ++v) {
    Stop stop{Step::Settled};
    Small<Wide> jumps;
    Small<std::int64_t> carrying_spans;
    for (const Level& level : views_[v].levels()) {
      if (!level.cut() && level.jump == 0) continue;
      const Residual rest = residual(line, box, level.span);
      if (!rest.affine) {
        stop = {Step::Open, level.span};
        if (level.jump != 0) {
          jumps.push_back(level.jump);
          carrying_spans.push_back(level.span);
        }
      } else if (level.cut() && (rest.min < level.low() || rest.max > level.high())) {
        if (keep_evidence_) keep_corner(box, rest.slopes, rest.max > level.high());
        return {Step::Dropped};  // both ends are attained
      }
    }
    if (!jumps.empty()) carries_cancelled_ = true;
    if (v + 1 == views_.size() && !jumps.empty()) {
      const std::optional<std::size_t> alone = carry_alone({jumps.data(), jumps.size()});
      if (alone) {
        if (keep_evidence_) keep_bent(box, line, carrying_spans[*alone]);
        return {Step::Dropped};
      }
    }
    if (stop.step == Step::Open) return stop;
    if (const std::int64_t span = descend(views_[v], box, line)) return {Step::Open, span};
  }
  for (std::size_t i = 0; i < box.dims.size(); ++i) {
    const std::uint64_t wanted = wrap(slopes_[box.dims[i].axis]) * wrap(box.dims[i].step);
    if (wrap(line.slopes[i]) == wanted) continue;
    if (keep_evidence_) {
      counterexample_ = box.low;
      counterexample_[box.dims[i].axis] += box.dims[i].step;
    }
    return {Step::Dropped};
  }
  return {Step::Settled};
}

MergeSearch::Truth MergeSearch::is_affine(const Box& root, std::int64_t base, const Point& slopes) {
  origin_ = root.low;
  base_ = base;
  slopes_ = slopes;
  carries_cancelled_ = false;
  std::vector<Box> boxes;
  Box box = root;
  for (bool first = true;; first = false) {
    if (++nodes_ > budget_) return Truth::Unknown;
    if (!agrees(box.low) || !agrees(high_corner(box))) return Truth::No;
    Line along = line(box);
    const Stop stop = match(box, along);
    if (stop.step == Step::Dropped) return Truth::No;
    if (stop.step == Step::Open) {
      if (first && !agrees_at_samples(box)) return Truth::No;
      split(box, along, {stop.weight}, boxes);
    }
    if (boxes.empty()) return Truth::Yes;
    box = std::move(boxes.back());
    boxes.pop_back();
  }
}

}  // namespace touchstone::shapetracker
