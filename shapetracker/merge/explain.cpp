#include "touchstone/shapetracker/merge/explain.h"

#include <algorithm>

namespace touchstone::shapetracker {

const char* name(MergeClass reason) {
  switch (reason) {
    case MergeClass::OneView: return "one view";
    case MergeClass::Empty: return "empty";
    case MergeClass::Coalesced: return "coalesced";
    case MergeClass::LevelAffine: return "level-affine";
    case MergeClass::Masked: return "masked";
    case MergeClass::CarryCancel: return "carry-cancel";
  }
  return "";
}

std::string Witness::str() const {
  std::vector<std::string> names;
  for (const auto& point : points) names.push_back(fmt::format("({})", fmt::join(point, ", ")));
  switch (kind) {
    case Kind::Hole: {
      const std::string gap = names.back();
      names.pop_back();
      return fmt::format("{} is padding although it lies between {}, which are not", gap,
                         fmt::join(names, ", "));
    }
    case Kind::Bend:
      return fmt::format("the address changes differently from {} to {} than from {} to {}",
                         names[0], names[1], names[2], names[3]);
    case Kind::TooFar:
      return fmt::format("the view that fits around {} has an offset or a stride beyond 64 bits",
                         names[0]);
    case Kind::NoAxis: return "the only point is padding, and a view of rank 0 has no axis to mask";
  }
  return "";
}

std::string Explanation::str() const {
  if (reason) return fmt::format("merged ({}): {}", name(*reason), result.view->str());
  if (witness) return "no single view: " + witness->str();
  return fmt::format("over budget: not decided after {} boxes", result.nodes);
}

std::vector<std::int64_t> WitnessMaker::index(const Point& point) const {
  std::vector<std::int64_t> index;
  for (std::size_t axis = 0; axis < view_.shape().size(); ++axis)
    index.push_back(view_.range(axis).first.as_int());
  for (std::size_t i = 0; i < point.size(); ++i)
    index[outer_.axes[i]] = outer_.begins[i] + point[i];
  return index;
}

// `point` is an invalid point of the valid box; the ends of the runs through `inside_` are valid.
Witness WitnessMaker::hole(const Point& point) const {
  Witness witness{Witness::Kind::Hole, {}};
  for (std::size_t axis = 0; axis < point.size(); ++axis) {
    const bool below = point[axis]<inside_[axis], above = point[axis]> inside_[axis];
    if (!below && !above) continue;
    Point end = inside_;
    end[axis] = (below ? candidate_.valid.low : candidate_.valid.high)[axis];
    witness.points.push_back(index(end));
  }
  witness.points.push_back(index(inside_));
  std::ranges::sort(witness.points);
  witness.points.push_back(index(point));
  return witness;
}

Witness WitnessMaker::bend(const Point& a, const Point& b, const Point& c, const Point& d) const {
  return {Witness::Kind::Bend, {index(a), index(b), index(c), index(d)}};
}

// Address minus the candidate's; nullopt if invalid.
std::optional<Wide> WitnessMaker::excess(const Point& point) const {
  const std::optional<std::int64_t> address = at_(point);
  if (!address) return std::nullopt;
  Wide value = static_cast<Wide>(*address) - candidate_.base;
  for (std::size_t i = 0; i < point.size(); ++i)
    value -= static_cast<Wide>(candidate_.slopes[i]) * (point[i] - candidate_.valid.low[i]);
  return value;
}

// The candidate holds at the low corner and one step from it. Walking from there to `point` axis by
// axis, it first fails along some axis i: either already on the line from the corner along i, or
// the corner, that line's end, and the last two points of the walk form a bent rectangle.
Witness WitnessMaker::disagreement(const Point& point) const {
  const Point& low = candidate_.valid.low;
  Point reached = low;
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (point[i] == low[i]) continue;
    Point next = reached, along = low;
    next[i] = along[i] = point[i];
    const std::optional<Wide> off_next = excess(next), off_along = excess(along);
    if (!off_next) return hole(next);
    if (!off_along) return hole(along);
    if (*off_along != 0) {
      Point step = low, straight = low, off = along;
      straight[i] = step[i] = low[i] + 1;
      while (off[i] - straight[i] > 1) {
        Point middle = low;
        middle[i] = straight[i] + (off[i] - straight[i]) / 2;
        const std::optional<Wide> there = excess(middle);
        if (!there) return hole(middle);
        (*there == 0 ? straight : off) = middle;
      }
      return bend(low, step, straight, off);
    }
    if (*off_next != 0) return bend(low, along, reached, next);
    reached = next;
  }
  return hole(point);
}

// The run through `inside_` ends before `point` along some axis.
Witness WitnessMaker::outlier(const Point& point) const {
  Point gap = inside_;
  for (std::size_t axis = 0; axis < point.size(); ++axis) {
    const bool below = point[axis] < candidate_.valid.low[axis];
    if (!below && point[axis] <= candidate_.valid.high[axis]) continue;
    gap[axis] = below ? candidate_.valid.low[axis] - 1 : candidate_.valid.high[axis] + 1;
    break;
  }
  const auto [first, second] = std::minmax({index(inside_), index(point)});
  return {Witness::Kind::Hole, {first, second, index(gap)}};
}

Witness WitnessMaker::too_far(const Point& corner) const {
  Wide low = candidate_.base, high = low;
  Point lowest = corner, highest = corner;
  for (std::size_t i = 0; i < lowest.size(); ++i) {
    const Wide reach = static_cast<Wide>(candidate_.slopes[i]) *
                       (candidate_.valid.high[i] - candidate_.valid.low[i]);
    (reach < 0 ? low : high) += reach;
    (reach < 0 ? lowest : highest)[i] = candidate_.valid.high[i];
  }
  if (!fits(low)) return disagreement(lowest);
  if (!fits(high)) return disagreement(highest);
  return {Witness::Kind::TooFar, {index(corner)}};
}

}  // namespace touchstone::shapetracker
