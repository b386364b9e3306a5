#include "touchstone/shapetracker/merge/point_search.h"

#include <algorithm>

namespace touchstone::shapetracker {
namespace {

// Calls look(point, k) for each point of a box and its flat index, while it returns true.
template <typename Look>
void visit(const FlatIndex& index, const Box& box, const Look& look) {
  Point point = box.low;
  Small<std::int64_t> turn(box.dims.size(), 0), step;
  auto k = static_cast<std::uint64_t>(index.base);  // mod 2^64, like all sums: those of points fit
  for (std::size_t i = 0; i < point.size(); ++i) k += wrap(index.strides[i]) * wrap(point[i]);
  for (const BoxDim& dim : box.dims)
    step.push_back(static_cast<std::int64_t>(
        wrap(index.strides[static_cast<std::size_t>(dim.axis)]) * wrap(dim.step)));
  for (;;) {
    if (!look(point, static_cast<std::int64_t>(k))) return;
    std::size_t i = 0;
    for (; i < box.dims.size(); ++i) {
      const BoxDim& dim = box.dims[i];
      std::int64_t& at = point[static_cast<std::size_t>(dim.axis)];
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

std::optional<std::int64_t> follow_flat(std::span<const FlatView> views, std::int64_t k) {
  for (const FlatView& view : views)
    if (!view.descend(k)) return std::nullopt;
  return k;
}

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
  std::uint64_t k = wrap(index_.base);
  for (std::size_t i = 0; i < point.size(); ++i) k += wrap(index_.strides[i]) * wrap(point[i]);
  return follow_flat(views_, static_cast<std::int64_t>(k));
}

bool PointSearch::carries_cancelled() const {
  return std::ranges::none_of(views_, [](const FlatView& view) { return view.masked(); });
}

}  // namespace touchstone::shapetracker
