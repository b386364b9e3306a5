#include "touchstone/shapetracker/same_map.h"

#include "touchstone/shapetracker/point_search.h"

namespace touchstone::shapetracker {
namespace {

using Step = MergeSearch::Step;
using Truth = MergeSearch::Truth;

// All views of a stack as functions of flat indices, the outermost first.
Small<FlatView> flat_views(std::span<const View> stack) {
  Small<FlatView> flat;
  for (std::size_t i = stack.size(); i-- > 0;) flat.emplace_back(stack[i]);
  return flat;
}

std::vector<std::int64_t> indices_of(const Point& point) { return {point.begin(), point.end()}; }

// Element by element.
Comparison compare_elements(std::span<const FlatView> a, std::span<const FlatView> b,
                            const Shape& shape, std::int64_t elements) {
  for (std::int64_t k = 0; k < elements; ++k) {
    if (follow_flat(a, k) == follow_flat(b, k)) continue;
    std::vector<std::int64_t> index(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0; k /= shape[axis].as_int())
      index[axis] = k % shape[axis].as_int();
    return {Truth::No, std::move(index)};
  }
  return {Truth::Yes, {}};
}

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
    if (size > 1) all.dims.push_back({static_cast<std::int32_t>(axis), 1, size});
    weight *= size;
  }
  const Small<FlatView> flat_a = flat_views(a), flat_b = flat_views(b);
  const MergeSearch left(row_major, {flat_a.data(), flat_a.size()}, nodes);
  const MergeSearch right(row_major, {flat_b.data(), flat_b.size()}, nodes);
  std::vector<Box> boxes{std::move(all)};
  while (!boxes.empty()) {
    if (nodes-- <= 0) {
      if (weight > points) return {Truth::Unknown, {}};
      return compare_elements({flat_a.data(), flat_a.size()}, {flat_b.data(), flat_b.size()}, shape,
                              weight);
    }
    const Box box = std::move(boxes.back());
    boxes.pop_back();
    const MergeSearch::Course one = left.follow(box), other = right.follow(box);
    if (one.step == Step::Open || other.step == Step::Open) {
      const auto& open = one.step == Step::Open ? one : other;
      MergeSearch::split(box, open.line, open.weight, boxes);
      continue;
    }
    if (one.step != other.step) return {Truth::No, indices_of(box.low)};
    if (one.step == Step::Dropped) continue;
    if (one.line.at_low != other.line.at_low) return {Truth::No, indices_of(box.low)};
    for (std::size_t i = 0; i < box.dims.size(); ++i) {
      if (one.line.slopes[i] == other.line.slopes[i]) continue;
      Point point = box.low;
      point[static_cast<std::size_t>(box.dims[i].axis)] += box.dims[i].step;
      return {Truth::No, indices_of(point)};
    }
  }
  return {Truth::Yes, {}};
}

}  // namespace touchstone::shapetracker
