#include "touchstone/shapetracker/ask/check.h"

#include <algorithm>

namespace touchstone::shapetracker {
namespace {

using Index = std::vector<std::int64_t>;

Check accept(bool complete = true) { return {true, complete, ""}; }
Check reject(std::string text) { return {false, true, std::move(text)}; }

std::string str(const Index& index) { return fmt::format("({})", fmt::join(index, ", ")); }

Index unravel(std::int64_t flat, const Shape& shape) {
  Index index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    const std::int64_t size = shape[i].as_int();
    index[i] = flat % size;
    flat /= size;
  }
  return index;
}

bool inside(const Shape& shape, const Index& index) {
  if (index.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (index[i] < 0 || index[i] >= shape[i].as_int()) return false;
  return true;
}

Check check_hole(std::span<const View> views, const std::vector<Index>& points) {
  const Index& gap = points.back();
  const std::span<const Index> others(points.data(), points.size() - 1);
  if (evaluate(views, gap)) return reject(str(gap) + " is valid");
  for (const Index& point : others)
    if (!evaluate(views, point)) return reject(str(point) + " is not valid");
  for (std::size_t axis = 0; axis < gap.size(); ++axis) {
    const auto at_most = [&](const Index& point) { return point[axis] <= gap[axis]; };
    const auto at_least = [&](const Index& point) { return point[axis] >= gap[axis]; };
    if (!std::ranges::any_of(others, at_most) || !std::ranges::any_of(others, at_least))
      return reject(fmt::format("{} is not between the others along axis {}", str(gap), axis));
  }
  if (others.empty()) return reject("no point is valid");
  return accept();
}

Check check_bend(std::span<const View> views, const std::vector<Index>& points) {
  if (points.size() != 4) return reject("a bend has four points");
  const Index &a = points[0], &b = points[1], &c = points[2], &d = points[3];
  for (std::size_t axis = 0; axis < a.size(); ++axis)
    if (static_cast<Wide>(b[axis]) - a[axis] != static_cast<Wide>(d[axis]) - c[axis])
      return reject(fmt::format("the two steps differ along axis {}", axis));
  Wide address[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const auto at = evaluate(views, points[i]);
    if (!at) return reject(str(points[i]) + " is not valid");
    address[i] = *at;
  }
  if (address[1] - address[0] == address[3] - address[2])
    return reject("the two steps change the address by the same amount");
  return accept();
}

// A valid neighbour along an axis fixes its stride. Without one, the valid indices of a view
// through the point have one value there, and its canonical stride is 0.
Check check_too_far(std::span<const View> views, const std::vector<Index>& points) {
  if (points.size() != 1) return reject("one point is enough");
  const auto base = evaluate(views, points[0]);
  if (!base) return reject(str(points[0]) + " is not valid");
  Wide offset = *base;
  bool far = false;
  const auto beyond = [](Wide value) { return value < INT64_MIN || value > INT64_MAX; };
  for (std::size_t axis = 0; axis < points[0].size(); ++axis) {
    Wide stride = 0;
    for (const std::int64_t step : {-1, 1}) {
      Index next = points[0];
      next[axis] += step;
      if (!inside(views.back().shape(), next)) continue;
      if (const auto there = evaluate(views, next))
        stride = (static_cast<Wide>(*there) - *base) * step;
    }
    far = far || beyond(stride);
    if (!far) offset -= stride * points[0][axis];
  }
  if (far || beyond(offset)) return accept();
  return reject("the view through the point fits in 64 bits");
}

}  // namespace

std::optional<std::int64_t> evaluate(std::span<const View> views,
                                     std::span<const std::int64_t> index) {
  std::optional<std::int64_t> address = views.back().at(index);
  for (std::size_t v = views.size() - 1; address && v-- > 0;) {
    const std::int64_t size = views[v].size().as_int();
    if (*address < 0 || *address >= size)
      throw ShapeError(fmt::format(
          "evaluate: element {} is outside view {}, which has {}; mask or shrink the view above",
          *address, v, size));
    address = views[v].at(unravel(*address, views[v].shape()));
  }
  return address;
}

Check check_witness(std::span<const View> views, const Witness& witness) {
  const Shape& shape = views.back().shape();
  if (witness.points.empty()) return reject("no points");
  for (const Index& point : witness.points)
    if (!inside(shape, point)) return reject(str(point) + " is outside " + touchstone::str(shape));
  switch (witness.kind) {
    case Witness::Kind::Hole: return check_hole(views, witness.points);
    case Witness::Kind::Bend: return check_bend(views, witness.points);
    case Witness::Kind::TooFar: return check_too_far(views, witness.points);
    case Witness::Kind::NoAxis:
      if (!shape.empty()) return reject("the stack has axes");
      return evaluate(views, Index{}) ? reject("the only point is valid") : accept();
  }
  return reject("unknown kind");
}

Check check_view(std::span<const View> views, const View& single, std::int64_t most) {
  const Shape& shape = views.back().shape();
  if (single.shape() != shape)
    return reject(fmt::format("shape {}, but the stack has {}", touchstone::str(single.shape()),
                              touchstone::str(shape)));
  const std::int64_t size = elements(shape).as_int();
  const auto differs = [&](const Index& index) {
    return evaluate(views, index) != single.at(index);
  };
  const auto at = [](const Index& index) { return reject("the view differs at " + str(index)); };
  if (size <= most) {
    for (std::int64_t i = 0; i < size; ++i)
      if (const Index index = unravel(i, shape); differs(index)) return at(index);
    return accept();
  }
  // Evenly spread points; then, pseudo-randomly for each axis, ends of the shape and the mask and
  // their neighbours.
  const std::int64_t step = std::max<std::int64_t>(size / most, 1);
  for (std::int64_t i = 0, flat = 0; i < most; ++i) {
    if (const Index index = unravel(flat, shape); differs(index)) return at(index);
    if (size - flat <= step) break;
    flat += step;
  }
  std::uint64_t state = 1;
  for (int round = 0; round < 4096; ++round) {
    Index index;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::int64_t extent = shape[axis].as_int();
      const auto [first, last] = single.range(axis);
      const std::int64_t begin = first.as_int(), end = last.as_int();
      const std::int64_t places[] = {0,       begin - 1, begin, begin + 1,
                                     end - 2, end - 1,   end,   extent - 1};
      state = state * 6364136223846793005U + 1442695040888963407U;
      index.push_back(std::clamp<std::int64_t>(places[state >> 61], 0, extent - 1));
    }
    if (differs(index)) return at(index);
  }
  return accept(false);
}

Check check(std::span<const View> views, const Explanation& explanation, std::int64_t most) {
  switch (explanation.result.answer) {
    case MergeAnswer::Merged:
      if (!explanation.result.view) return reject("merged, but without a view");
      return check_view(views, *explanation.result.view, most);
    case MergeAnswer::NoSuchView:
      if (!explanation.witness) return reject("refused without a witness");
      return check_witness(views, *explanation.witness);
    case MergeAnswer::OverBudget: return accept(false);
  }
  return reject("unknown answer");
}

}  // namespace touchstone::shapetracker
