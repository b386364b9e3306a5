#include "touchstone/shapetracker/merge/sum_search.h"

#include <algorithm>

#include "touchstone/shapetracker/limits.h"

namespace touchstone::shapetracker {
namespace {

/// A sum with its key: the sum, or its remainder for a nonzero modulus.
struct Subset {
  std::int64_t key, sum;
};
using Entries = std::vector<Subset>;

Entries entries(const std::vector<std::int64_t>& sums, std::int64_t plus, std::int64_t modulus) {
  Entries entries;
  entries.reserve(sums.size());
  for (const std::int64_t sum : sums)
    entries.push_back({modulus > 0 ? (sum + plus) % modulus : sum + plus, sum});
  if (modulus > 0) std::ranges::sort(entries, {}, &Subset::key);
  return entries;
}

/// Passes pairs of two sorted lists whose keys add up to a value in [low, high] to accept(), until
/// it returns true or the limit of pairs is reached.
template <typename Accept>
MergeSearch::Truth each_pair(const Entries& a, const Entries& b, std::int64_t low,
                             std::int64_t high, const Accept& accept) {
  std::int64_t tried = 0;
  std::size_t from = b.size();  // the first of b that is large enough
  for (const Subset& one : a) {
    while (from > 0 && one.key + b[from - 1].key >= low) --from;
    for (std::size_t i = from; i < b.size() && one.key + b[i].key <= high; ++i) {
      if (accept(one.sum, b[i].sum)) return MergeSearch::Truth::Yes;
      if (++tried > Limits::kSumPairs) return MergeSearch::Truth::Unknown;
    }
  }
  return MergeSearch::Truth::No;
}

}  // namespace

// The sorted sums of stride * z; false if there are too many.
bool SumSearch::list(std::span<const Dim> dims, Sums& sums) const {
  sums = {0};
  for (const Dim& dim : dims) {
    if (std::ssize(sums) > most_ / dim.extent) return false;
    Sums next;
    next.reserve(sums.size() * static_cast<std::size_t>(dim.extent));
    next = sums;
    for (std::int64_t z = 1; z < dim.extent; ++z)
      for (const std::int64_t sum : sums) next.push_back(sum + dim.stride * z);
    const auto middle = next.begin() + std::ssize(sums);
    if (dim.extent == 2)
      std::inplace_merge(next.begin(), middle, next.end());
    else
      std::ranges::sort(next);
    next.erase(std::unique(next.begin(), next.end()), next.end());
    sums = std::move(next);
  }
  return true;
}

// Sets the point's coordinates along `dims` so that they sum to `sum`.
bool SumSearch::choose(std::span<const Dim> dims, std::int64_t sum, const Box& box,
                       Point& point) const {
  if (dims.empty()) return sum == 0;
  if (dims.size() == 1) {
    const Dim& dim = dims[0];
    if (sum % dim.stride != 0 || sum / dim.stride >= dim.extent) return false;
    const std::int64_t z = sum / dim.stride;
    const BoxDim& along = box.dims[dim.of];
    point[along.axis] = point[along.axis] + along.step * (dim.falling ? dim.extent - 1 - z : z);
    return true;
  }
  const auto first = dims.first(dims.size() / 2), second = dims.subspan(dims.size() / 2);
  Sums a, b;
  if (!list(first, a) || !list(second, b)) return false;
  return each_pair(entries(a, 0, 0), entries(b, 0, 0), sum, sum,
                   [&](std::int64_t one, std::int64_t other) {
                     return choose(first, one, box, point) && choose(second, other, box, point);
                   }) == Truth::Yes;
}

MergeSearch::Found SumSearch::find(const Box& box) {
  MergeSearch quick(index_, inner_, quick_);
  Found found = quick.find(box);
  nodes_ += quick.nodes();
  if (found.truth != Truth::Unknown) return found;
  std::int64_t lowest = index_.at(box.low);
  std::vector<Dim> dims, half, other;
  for (std::size_t i = 0; i < box.dims.size(); ++i) {
    const BoxDim& along = box.dims[i];
    const std::int64_t stride = index_.slope(along);
    if (stride < 0) lowest += stride * (along.extent - 1);
    dims.push_back({std::abs(stride), along.extent, i, stride < 0});
  }
  double of_half = 1, of_other = 1;  // number of points
  for (const Dim& dim : dims) {
    const bool to_half = of_half <= of_other;
    (to_half ? half : other).push_back(dim);
    (to_half ? of_half : of_other) *= static_cast<double>(dim.extent);
  }
  const FlatView& view = inner_.front();
  const Level* level = nullptr;  // the most restrictive mask
  const auto share = [](const Level& l) {
    return static_cast<double>(l.high() - l.low() + 1) / static_cast<double>(l.span);
  };
  for (const Level& l : view.levels())
    if (l.cut() && (level == nullptr || share(l) < share(*level))) level = &l;
  Sums a, b;
  if (level == nullptr || !list(half, a) || !list(other, b)) return {Truth::Unknown, {}};
  const bool turns = level->span < view.size();  // the mask repeats
  const std::int64_t modulus = turns ? level->span : 0;
  const Entries first = entries(a, lowest, modulus), second = entries(b, 0, modulus);
  found.point = box.low;
  const auto inside = [&](std::int64_t one, std::int64_t two) {
    return view.at(lowest + one + two) && choose(half, one, box, found.point) &&
           choose(other, two, box, found.point);
  };
  found.truth = each_pair(first, second, level->low(), level->high(), inside);
  if (found.truth == Truth::No && turns)  // two remainders may sum to one period more
    found.truth =
        each_pair(first, second, level->low() + level->span, level->high() + level->span, inside);
  return found;
}

MergeSearch::Truth SumSearch::is_affine(const Box& box, std::int64_t base, const Point& slopes) {
  return boxes_.is_affine(box, base, slopes);
}

namespace {

// Calls look(point, k) for each point of a box and its flat index, while it returns true.
template <typename Look>
void visit(const FlatIndex& index, const Box& box, const Look& look) {
  Point point = box.low;
  Small<std::int64_t> turn(box.dims.size(), 0), step;
  auto k = wrap(index.at(point));
  for (const BoxDim& dim : box.dims) step.push_back(index.slope(dim));
  for (;;) {
    if (!look(point, static_cast<std::int64_t>(k))) return;
    std::size_t i = 0;
    for (; i < box.dims.size(); ++i) {
      const BoxDim& dim = box.dims[i];
      std::int64_t& at = point[dim.axis];
      if (++turn[i] < dim.extent) {
        at += dim.step;
        k += wrap(step[i]);
        break;
      }
      turn[i] = 0;
      at -= dim.step * (dim.extent - 1);
      k -= wrap(step[i]) * wrap(dim.extent - 1);
    }
    if (i == box.dims.size()) return;
  }
}

}  // namespace

PointSearch::Found PointSearch::find(const Box& box) {
  Found found{Truth::No, {}};
  visit(index_, box, [&](const Point& point, std::int64_t k) {
    if (!follow_flat(views_, k)) return true;
    found = {Truth::Yes, point};
    return false;
  });
  return found;
}

PointSearch::Truth PointSearch::is_affine(const Box& box, std::int64_t base, const Point& slopes) {
  Truth truth = Truth::Yes;
  visit(index_, box, [&](const Point& point, std::int64_t k) {
    std::uint64_t wanted = wrap(base);
    for (std::size_t i = 0; i < point.size(); ++i)
      wanted += wrap(slopes[i]) * wrap(point[i] - box.low[i]);
    if (follow_flat(views_, k) == static_cast<std::int64_t>(wanted)) return true;
    counterexample_ = point;
    truth = Truth::No;
    return false;
  });
  return truth;
}

std::optional<std::int64_t> PointSearch::at(const Point& point) const {
  return follow_flat(views_, index_.at(point));
}

bool PointSearch::carries_cancelled() const {
  return std::ranges::none_of(views_, [](const FlatView& view) { return view.masked(); });
}

}  // namespace touchstone::shapetracker
