#include "touchstone/shapetracker/merge/merge.h"

#include <algorithm>

#include "touchstone/shapetracker/limits.h"
#include "touchstone/shapetracker/merge/bit_search.h"
#include "touchstone/shapetracker/merge/explain.h"
#include "touchstone/shapetracker/merge/simplify.h"
#include "touchstone/shapetracker/merge/sum_search.h"
#include "touchstone/shapetracker/symbolic/symbolic_merge.h"
#include "touchstone/shapetracker/view/reshape.h"

namespace touchstone {
namespace shapetracker {

Outer::Outer(const View& view) {
  Wide base = view.offset().as_int();
  for (std::size_t axis = 0; axis < view.shape().size(); ++axis) {
    const auto [size, stride, begin, end] = axis_of(view, axis);
    if (stride == 0) continue;
    base += static_cast<Wide>(stride) * begin;
    box.dims.push_back({axes.size(), 1, end - begin});
    box.low.push_back(0);
    index.strides.push_back(stride);
    axes.push_back(axis);
    begins.push_back(begin);
  }
  index.base = static_cast<std::int64_t>(base);
}

namespace {

using Truth = MergeSearch::Truth;

/// The reason for the answer; filled only on request.
struct Evidence {
  MergeClass reason = MergeClass::OneView;
  std::optional<Witness> witness;
};

MergeResult nothing_valid(const Shape& shape, Evidence* evidence) {
  if (evidence != nullptr) evidence->reason = MergeClass::Empty;
  if (!shape.empty())
    return {MergeAnswer::Merged,
            View::trusted(shape, Strides(shape.size(), 0), 0, Mask(shape.size(), Range{0, 0}))};
  if (evidence != nullptr) evidence->witness = Witness{Witness::Kind::NoAxis, {{}}};
  return {MergeAnswer::NoSuchView, std::nullopt};
}

// Index of the last valid point from `point` along `axis` in direction `sign`: exact if the valid
// points on that line form one run.
template <typename Search>
std::int64_t end_of_run(const Search& search, Point point, std::size_t axis, std::int64_t sign,
                        std::int64_t last) {
  const std::int64_t start = point[axis];
  if (start == last) return last;
  point[axis] = last;  // most runs reach it
  if (search.at(point)) return last;
  std::int64_t inside = 0, outside = std::abs(last - start);
  while (outside - inside > 1) {
    const std::int64_t middle = inside + (outside - inside) / 2;
    point[axis] = start + sign * middle;
    (search.at(point) ? inside : outside) = middle;
  }
  return start + sign * inside;
}

// The box of valid points, if they form one, grown from one of them.
template <typename Search>
Valid valid_box(const Search& search, const Outer& outer, const Point& inside, bool masked) {
  Valid valid{inside, inside};
  for (std::size_t axis = 0; axis < inside.size(); ++axis) {
    const std::int64_t last = outer.box.dims[axis].extent - 1;
    valid.low[axis] = masked ? end_of_run(search, inside, axis, -1, 0) : 0;
    valid.high[axis] = masked ? end_of_run(search, inside, axis, 1, last) : last;
  }
  return valid;
}

Box box_between(const Point& low, const Point& high) {
  Box box{low, {}};
  for (std::size_t axis = 0; axis < low.size(); ++axis)
    if (high[axis] > low[axis]) box.dims.push_back({axis, 1, high[axis] - low[axis] + 1});
  return box;
}

// A valid point of the outer box outside `valid`, or the proof that there is none.
template <typename Search>
MergeSearch::Found find_outside(Search& search, const Outer& outer, const Valid& valid) {
  Point low(valid.low.size(), 0), high;
  for (const BoxDim& dim : outer.box.dims) high.push_back(dim.extent - 1);
  for (std::size_t axis = 0; axis < low.size(); ++axis) {
    const std::int64_t first = low[axis], last = high[axis];
    const auto find_between = [&](std::int64_t from, std::int64_t to) -> MergeSearch::Found {
      if (from > to) return {Truth::No, {}};
      low[axis] = from;
      high[axis] = to;
      return search.find(box_between(low, high));
    };
    if (const auto found = find_between(first, valid.low[axis] - 1); found.truth != Truth::No)
      return found;
    if (const auto found = find_between(valid.high[axis] + 1, last); found.truth != Truth::No)
      return found;
    low[axis] = valid.low[axis];
    high[axis] = valid.high[axis];
  }
  return {Truth::No, {}};
}

// The offset of the candidate as a view; nullopt if it or an address exceeds 64 bits.
std::optional<std::int64_t> offset_of(const Outer& outer, const Candidate& candidate) {
  const auto& [valid, base, slopes] = candidate;
  Wide offset = base, low = base, high = base;
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const Wide reach = static_cast<Wide>(slopes[i]) * (valid.high[i] - valid.low[i]);
    (reach < 0 ? low : high) += reach;
    offset -= static_cast<Wide>(slopes[i]) * (outer.begins[i] + valid.low[i]);
  }
  if (!fits(low) || !fits(high) || !fits(offset)) return std::nullopt;
  return static_cast<std::int64_t>(offset);
}

View assemble(const View& view, const Outer& outer, const Candidate& candidate,
              std::int64_t offset) {
  const auto& [valid, base, slopes] = candidate;
  Strides strides(view.shape().size(), 0);
  std::optional<Mask> mask = view.mask();
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const std::size_t axis = outer.axes[i];
    const std::int64_t begin = outer.begins[i] + valid.low[i];
    const std::int64_t end = outer.begins[i] + valid.high[i] + 1;
    strides[axis] = slopes[i];
    if (!mask && (begin > 0 || !(sint(end) == view.shape()[axis]))) mask = view.ranges();
    if (mask) (*mask)[axis] = {begin, end};
  }
  return View::trusted(view.shape(), std::move(strides), offset, std::move(mask));
}

/// The decision for one outermost view, with any of the searches.
template <typename Search>
class Merge {
 public:
  Merge(Search& search, const View& view, const Outer& outer, bool masked, Evidence* evidence)
      : search_(search), view_(view), outer_(outer), masked_(masked), evidence_(evidence) {}

  MergeResult run() {
    inside_ = outer_.box.low;
    if (masked_) {
      MergeSearch::Found found = search_.find(outer_.box);
      if (found.truth == Truth::Unknown) return answer(MergeAnswer::OverBudget);
      if (found.truth == Truth::No) {
        MergeResult result = nothing_valid(view_.shape(), evidence_);
        result.nodes = search_.nodes();
        return result;
      }
      inside_ = std::move(found.point);
    }
    candidate_.valid = valid_box(search_, outer_, inside_, masked_);
    const Valid& valid = candidate_.valid;
    const std::optional<std::int64_t> base = search_.at(valid.low);
    if (!base) return refuse(&WitnessMaker::hole, valid.low);
    candidate_.base = *base;
    candidate_.slopes = Point(valid.low.size(), 0);
    Point neighbour = valid.low;
    for (std::size_t axis = 0; axis < neighbour.size(); ++axis) {
      if (valid.low[axis] == valid.high[axis]) continue;
      ++neighbour[axis];
      const std::optional<std::int64_t> address = search_.at(neighbour);
      if (!address) return refuse(&WitnessMaker::hole, neighbour);
      --neighbour[axis];
      candidate_.slopes[axis] = *address - *base;  // fits: merge_stack checked
    }
    const std::optional<std::int64_t> offset = offset_of(outer_, candidate_);
    if (!offset) return refuse(&WitnessMaker::too_far, valid.low);
    return decide(*offset);
  }

 private:
  MergeResult decide(std::int64_t offset) {
    const Valid& valid = candidate_.valid;
    const int before = search_.nodes();
    const Truth affine =
        search_.is_affine(box_between(valid.low, valid.high), candidate_.base, candidate_.slopes);
    if (affine == Truth::Unknown) return answer(MergeAnswer::OverBudget);
    if (affine == Truth::No) {
      if (evidence_ == nullptr) return answer(MergeAnswer::NoSuchView);
      return refuse(&WitnessMaker::disagreement, search_.counterexample());
    }
    const bool split = search_.nodes() > before + 1;
    if (masked_) {
      const MergeSearch::Found found = find_outside(search_, outer_, valid);
      if (found.truth == Truth::Unknown) return answer(MergeAnswer::OverBudget);
      if (found.truth == Truth::Yes) return refuse(&WitnessMaker::outlier, found.point);
    }
    if (evidence_ != nullptr)
      evidence_->reason = search_.carries_cancelled() ? MergeClass::CarryCancel
                          : masked_ || split          ? MergeClass::Masked
                                                      : MergeClass::LevelAffine;
    return {MergeAnswer::Merged, assemble(view_, outer_, candidate_, offset), search_.nodes()};
  }

  MergeResult answer(MergeAnswer answer) const { return {answer, std::nullopt, search_.nodes()}; }

  MergeResult refuse(Witness (WitnessMaker::*make)(const Point&) const, const Point& point) {
    if (evidence_ != nullptr) {
      WitnessMaker maker(view_, outer_, [this](const Point& p) { return search_.at(p); });
      maker.from(inside_, candidate_);
      evidence_->witness = (maker.*make)(point);
    }
    return answer(MergeAnswer::NoSuchView);
  }

  Search& search_;
  const View& view_;
  const Outer& outer_;
  bool masked_;
  Evidence* evidence_;
  Point inside_;
  Candidate candidate_;
};

// True if bit sets are feasible: not too many elements or levels.
bool bits_would_do(const FlatView& view, const MergeBudget& budget) {
  const auto sets = static_cast<std::int64_t>(2 * view.levels().size()) + 4;
  return view.size() <= budget.bits && view.size() / 64 * sets <= Limits::kBitWords;
}

// INT64_MAX if there are more.
std::int64_t points_of(const Box& box) {
  std::int64_t points = 1;
  for (const BoxDim& dim : box.dims)
    if (__builtin_mul_overflow(points, dim.extent, &points)) return INT64_MAX;
  return points;
}

// For stacks that boxes alone did not settle after `nodes` boxes.
MergeResult merge_hard(std::span<const FlatView> inner, const View& view, const Outer& outer,
                       bool masked, const MergeBudget& budget, Evidence& evidence, int nodes) {
  MergeResult result{MergeAnswer::OverBudget, std::nullopt, nodes};
  const std::int64_t points = points_of(outer.box);
  const auto point_by_point = [&] {
    PointSearch search(outer.index, inner);
    result = Merge(search, view, outer, masked, &evidence).run();
    result.nodes = nodes;
    result.by_points = true;
    return result;
  };
  if (points <= std::min(Limits::kFewPoints, budget.points)) return point_by_point();
  if (inner.size() == 1) {
    const bool bits = bits_would_do(inner[0], budget);
    if (masked && budget.sums > 0 && !(bits && inner[0].size() <= Limits::kFewBits)) {
      SumSearch search(outer.index, inner, budget.sums, budget.nodes, true);
      result = Merge(search, view, outer, masked, &evidence).run();
      result.nodes += nodes;
      result.by_sums = result.answer != MergeAnswer::OverBudget;
    }
    if (result.answer == MergeAnswer::OverBudget && bits) {
      BitSearch search(outer.index, inner[0], Limits::kBitWork);
      result = Merge(search, view, outer, masked, &evidence).run();
      result.nodes = nodes;
      result.by_bits = result.answer != MergeAnswer::OverBudget;
      if (result.by_bits) return result;
    }
  }
  if (result.answer == MergeAnswer::OverBudget && points <= budget.points) return point_by_point();
  if (result.answer == MergeAnswer::OverBudget && budget.last_nodes > budget.nodes) {
    MergeSearch search(outer.index, inner, budget.last_nodes, true);
    result = Merge(search, view, outer, masked, &evidence).run();
  }
  return result;
}

Explanation explanation_of(const MergeResult& result, const Evidence& evidence) {
  Explanation explanation{result, std::nullopt, std::nullopt};
  if (result.answer == MergeAnswer::Merged) explanation.reason = evidence.reason;
  if (result.answer == MergeAnswer::NoSuchView) explanation.witness = evidence.witness;
  return explanation;
}

MergeResult merge_flat(std::span<const FlatView> inner, const View& view, const MergeBudget& budget,
                       Evidence* evidence) {
  const Outer outer(view);
  const bool masked = std::ranges::any_of(inner, [](const FlatView& v) { return v.masked(); });
  MergeSearch search(outer.index, inner, budget.nodes, evidence != nullptr);
  MergeResult result = Merge(search, view, outer, masked, evidence).run();
  const auto one_digit = [](const FlatView& v) { return v.levels().size() <= 1; };
  if (result.answer != MergeAnswer::OverBudget) {
    if (evidence != nullptr && evidence->reason == MergeClass::LevelAffine &&
        std::ranges::all_of(inner, one_digit))
      evidence->reason = MergeClass::Coalesced;
    return result;
  }
  Evidence hard;
  result = merge_hard(inner, view, outer, masked, budget, hard, result.nodes);
  result.explanation = std::make_shared<const Explanation>(explanation_of(result, hard));
  if (evidence != nullptr) *evidence = hard;
  return result;
}

void require_within(const View& outer, const View& inner) {
  const auto [low, high] = wide_range(outer);
  if (low < 0 || high >= inner.size().as_int())
    throw ShapeError(
        fmt::format("merge: {} reads addresses {} to {}, but the view below it, {}, has {} "
                    "elements; mask or shrink the outer view",
                    outer.str(), static_cast<std::int64_t>(low), static_cast<std::int64_t>(high),
                    inner.str(), inner.size().str()));
}

void require_concrete(std::span<const View> views) {
  if (views.empty()) throw ShapeError("merge: no views; give at least one");
  for (const View& view : views)
    if (!view.is_concrete())
      throw ShapeError(fmt::format("merge: {} has variables; bind them first", view.str()));
}

MergeResult merge(std::span<const View> views, const MergeBudget& budget, Evidence* evidence) {
  require_concrete(views);
  const View& outer = views.back();
  if (outer.nothing_valid() || views.size() == 1) return {MergeAnswer::Merged, outer};
  for (std::size_t i = 1; i < views.size(); ++i) {
    if (views[i - 1].nothing_valid()) return nothing_valid(outer.shape(), evidence);
    require_within(views[i], views[i - 1]);
  }
  // Slopes are compared mod 2^64, which is exact if all address differences fit in 63 bits.
  const auto [low, high] = wide_range(views.front());
  if (!fits(high - low)) return {MergeAnswer::OverBudget, std::nullopt};
  Small<FlatView> inner;
  for (std::size_t i = views.size() - 1; i-- > 0;) inner.emplace_back(views[i]);
  return merge_flat({inner.data(), inner.size()}, outer, budget, evidence);
}

}  // namespace

MergeResult merge_stack(std::span<const View> views, const MergeBudget& budget) {
  return merge(views, budget, nullptr);
}

Explanation explain_merge(std::span<const View> views, const MergeBudget& budget) {
  Evidence evidence;
  const MergeResult result = merge(views, budget, &evidence);
  return explanation_of(result, evidence);
}

Explanation explain_merge(std::span<const View> views, const MergeResult& known) {
  if (known.explanation) return *known.explanation;
  if (known.answer == MergeAnswer::OverBudget) return {known, std::nullopt, std::nullopt};
  return explain_merge(views);
}

MergeResult merge_pair(const View& inner, const View& outer, const MergeBudget& budget) {
  if (inner.is_contiguous() && !inner.nothing_valid()) {
    if (!outer.nothing_valid()) require_within(outer, inner);
    return {MergeAnswer::Merged, outer};
  }
  if (outer.is_contiguous() && outer.shape() == inner.shape()) return {MergeAnswer::Merged, inner};
  const View stack[] = {inner, outer};
  return merge_stack(stack, budget);
}

}  // namespace shapetracker

namespace {

// Reshapes a group of axes; concrete groups are merged with the target.
std::optional<View> merge_group(const View& group, const Shape& shape) {
  const View target = View::contiguous(shape);
  if (group.is_concrete() && target.is_concrete())
    return shapetracker::merge_pair(group, target).view;
  return shapetracker::reshape_row_major(group, shape);
}

}  // namespace

std::optional<View> merge(const View& inner, const View& outer) {
  const bool concrete = inner.is_concrete();
  if (concrete && outer.is_concrete()) return shapetracker::merge_pair(inner, outer).view;
  if (inner.is_contiguous() && !inner.nothing_valid() && !concrete && !outer.is_concrete())
    return outer;
  if (outer.is_contiguous() && outer.shape() == inner.shape()) return inner;
  if (outer.is_contiguous() && !inner.nothing_valid() && !outer.nothing_valid() &&
      certainly_eq(inner.size(), outer.size()))
    if (auto grouped = shapetracker::reshape_by_groups(inner, outer.shape(), merge_group))
      return grouped;
  const View stack[] = {inner, outer};
  return shapetracker::symbolic_merge(stack).view;
}

}  // namespace touchstone
