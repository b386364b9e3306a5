#include "touchstone/shapetracker/merge/same_map.h"

#include <algorithm>
#include <numeric>

#include "touchstone/base/hash.h"
#include "touchstone/shapetracker/limits.h"
#include "touchstone/shapetracker/merge/sum_search.h"

namespace touchstone::shapetracker {
namespace {

using Step = MergeSearch::Step;
using Truth = MergeSearch::Truth;

using FlatViews = std::span<const FlatView>;  // outermost first

// All views of a stack as functions of flat indices, outermost first.
Small<FlatView> flat_views(std::span<const View> stack) {
  Small<FlatView> flat;
  for (std::size_t i = stack.size(); i-- > 0;) flat.emplace_back(stack[i]);
  return flat;
}

std::vector<std::int64_t> indices_of(const Point& point) { return {point.begin(), point.end()}; }

Comparison different_at(std::int64_t k, const Shape& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; k /= shape[axis].as_int())
    index[axis] = k % shape[axis].as_int();
  return {Truth::No, std::move(index)};
}

// Compares the first and last element, the last along each axis, and some spread over all: most
// differing maps differ there. Unknown if none differs.
Comparison compare_samples(FlatViews a, FlatViews b, const Shape& shape, std::int64_t elements) {
  const auto differ = [&](std::int64_t k) { return follow_flat(a, k) != follow_flat(b, k); };
  for (const std::int64_t k : {std::int64_t{0}, elements - 1})
    if (differ(k)) return different_at(k, shape);
  std::int64_t weight = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; weight *= shape[axis].as_int())
    if (const std::int64_t k = weight * (shape[axis].as_int() - 1); differ(k))
      return different_at(k, shape);
  for (std::uint64_t i = 0; i < wrap(Limits::kSamples); ++i)
    if (const auto k =
            static_cast<std::int64_t>(hash_mix(i, i) % static_cast<std::uint64_t>(elements));
        differ(k))
      return different_at(k, shape);
  return {Truth::Unknown, {}};
}

Comparison compare_elements(FlatViews a, FlatViews b, const Shape& shape, std::int64_t elements) {
  for (std::int64_t k = 0; k < elements; ++k)
    if (follow_flat(a, k) != follow_flat(b, k)) return different_at(k, shape);
  return {Truth::Yes, {}};
}

// Compares by parts of the box on which each stack is affine or padding; `nodes` is the remaining
// budget.
Comparison compare_boxes(const MergeSearch& left, const MergeSearch& right, Box all, int& nodes) {
  std::vector<Box> boxes{std::move(all)};
  while (!boxes.empty()) {
    if (nodes-- <= 0) return {Truth::Unknown, {}};
    const Box box = std::move(boxes.back());
    boxes.pop_back();
    const MergeSearch::Course one = left.follow(box), other = right.follow(box);
    if (one.step == Step::Open || other.step == Step::Open) {
      const auto& open = one.step == Step::Open ? one : other;
      MergeSearch::split(box, open.line, open.border, boxes);
      continue;
    }
    if (one.step != other.step) return {Truth::No, indices_of(box.low)};
    if (one.step == Step::Dropped) continue;
    if (one.line.at_low != other.line.at_low) return {Truth::No, indices_of(box.low)};
    for (std::size_t i = 0; i < box.dims.size(); ++i) {
      if (one.line.slopes[i] == other.line.slopes[i]) continue;
      Point point = box.low;
      point[box.dims[i].axis] += box.dims[i].step;
      return {Truth::No, indices_of(point)};
    }
  }
  return {Truth::Yes, {}};
}

/// Outermost views that differ only by a factor and an offset: their address at an index is base +
/// step * t with one t >= 0 for both, the sum of |along| times the distance of each index from the
/// end of its range with the lowest t.
struct Common {
  FlatIndex a, b;
  std::vector<std::int64_t> along;
};

std::optional<Common> common_line(const View& a, const View& b) {
  if (a.mask() != b.mask()) return std::nullopt;
  std::int64_t unit = 0;
  for (const sint& stride : a.strides()) unit = std::gcd(unit, stride.as_int());
  if (unit == 0) return std::nullopt;
  std::vector<std::int64_t> along;
  std::optional<std::int64_t> step;
  for (std::size_t i = 0; i < a.strides().size(); ++i) {
    along.push_back(a.strides()[i].as_int() / unit);
    const std::int64_t other = b.strides()[i].as_int();
    if (along[i] == 0 ? other != 0 : other % along[i] != 0) return std::nullopt;
    if (along[i] == 0) continue;
    if (step.value_or(other / along[i]) != other / along[i]) return std::nullopt;
    step = other / along[i];
  }
  if (*step == 0) return std::nullopt;
  const auto [low_b, high_b] = address_range(b);
  return Common{{address_range(a).first.as_int(), {unit}},
                {(*step > 0 ? low_b : high_b).as_int(), {*step}},
                std::move(along)};
}

/// Compares two stacks with a common line along it instead of over a box. If they differ at
/// positions that no index has, the indices are bisected.
class LineComparison {
 public:
  LineComparison(const Common& common, FlatViews a, FlatViews b, const View& outer)
      : along_(common.along),
        left_(common.a, a, Limits::kLineBoxes),
        right_(common.b, b, Limits::kLineBoxes) {
    Part all;
    for (std::size_t i = 0; i < along_.size(); ++i) {
      const auto [begin, end] = outer.range(i);
      first_.push_back(begin.as_int());
      last_.push_back(end.as_int() - 1);
      all.push_back({0, along_[i] == 0 ? 0 : last_[i] - first_[i]});
    }
    parts_.push_back(std::move(all));
  }

  Comparison run() {
    while (!parts_.empty()) {
      const Part part = std::move(parts_.back());
      parts_.pop_back();
      const Comparison compared = compare(part);
      if (compared.same == Truth::Unknown) return compared;
      if (compared.same == Truth::Yes) continue;
      if (auto index = index_at(part, compared.different.front()))
        return {Truth::No, std::move(*index)};
      halve(part);
    }
    return {Truth::Yes, {}};
  }
  /// Boxes examined.
  int nodes() const { return Limits::kLineBoxes - nodes_; }

 private:
  /// Indices counted from the end of each range with the lowest t.
  struct Interval {
    std::int64_t low, high;
  };
  using Part = std::vector<Interval>;

  std::int64_t reach(const Part& part, std::size_t axis) const {
    return std::abs(along_[axis]) * (part[axis].high - part[axis].low);
  }

  Comparison compare(const Part& part) {
    std::int64_t low = 0, extent = 1;
    for (std::size_t i = 0; i < part.size(); ++i) {
      low += std::abs(along_[i]) * part[i].low;
      extent += reach(part, i);
    }
    Box line{{low}, {}};
    if (extent > 1) line.dims.push_back({0, 1, extent});
    return compare_boxes(left_, right_, std::move(line), nodes_);
  }

  // An index of the part at that position; nullopt if taking the largest steps first finds none.
  std::optional<std::vector<std::int64_t>> index_at(const Part& part, std::int64_t t) const {
    std::vector<std::size_t> order(part.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, std::greater(), [&](std::size_t i) { return std::abs(along_[i]); });
    for (std::size_t i = 0; i < part.size(); ++i) t -= std::abs(along_[i]) * part[i].low;
    std::vector<std::int64_t> index(part.size());
    for (const std::size_t i : order) {
      const std::int64_t step = std::abs(along_[i]);
      const std::int64_t steps = step == 0 ? 0 : std::min(t / step, part[i].high - part[i].low);
      index[i] = along_[i] < 0 ? last_[i] - part[i].low - steps : first_[i] + part[i].low + steps;
      t -= steps * step;
    }
    return t == 0 ? std::optional(std::move(index)) : std::nullopt;
  }

  void halve(const Part& part) {
    std::size_t longest = 0;
    for (std::size_t i = 1; i < part.size(); ++i)
      if (reach(part, i) > reach(part, longest)) longest = i;
    Part one = part, other = part;
    const auto [low, high] = part[longest];
    one[longest].high = low + (high - low) / 2;
    other[longest].low = one[longest].high + 1;
    parts_.push_back(std::move(other));
    parts_.push_back(std::move(one));
  }

  std::vector<std::int64_t> along_, first_, last_;
  MergeSearch left_, right_;
  std::vector<Part> parts_;
  int nodes_ = Limits::kLineBoxes;
};

}  // namespace

Comparison compare_maps(std::span<const View> a, std::span<const View> b, int nodes,
                        std::int64_t points) {
  const Shape& shape = a.back().shape();
  FlatIndex row_major{0, Point(shape.size(), 0)};
  Box all{Point(shape.size(), 0), {}};
  std::int64_t weight = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const std::int64_t size = shape[axis].as_int();
    row_major.strides[axis] = weight;
    if (size > 1) all.dims.push_back({axis, 1, size});
    weight *= size;
  }
  std::int64_t work = 0;
  const auto done = [&](Comparison compared) {
    compared.work = work;
    return compared;
  };
  const Small<FlatView> flat_a = flat_views(a), flat_b = flat_views(b);
  const FlatViews one(flat_a.data(), flat_a.size()), other(flat_b.data(), flat_b.size());
  work += Limits::kSamples;
  if (Comparison sampled = compare_samples(one, other, shape, weight); sampled.same == Truth::No)
    return done(std::move(sampled));
  if (const std::optional<Common> common = common_line(a.back(), b.back());
      common && one.size() > 1 && other.size() > 1) {
    LineComparison along(*common, one.subspan(1), other.subspan(1), a.back());
    Comparison lines = along.run();
    work += along.nodes();
    if (lines.same != Truth::Unknown) return done(std::move(lines));
  }
  const MergeSearch left(row_major, one, nodes), right(row_major, other, nodes);
  int boxes_left = nodes;
  Comparison compared = compare_boxes(left, right, std::move(all), boxes_left);
  work += nodes - boxes_left;
  if (compared.same != Truth::Unknown || weight > points) return done(std::move(compared));
  work += weight;
  return done(compare_elements(one, other, shape, weight));
}

}  // namespace touchstone::shapetracker
