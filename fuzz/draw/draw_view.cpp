#include <algorithm>
#include <functional>

#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/fuzz/judge/values.h"

namespace touchstone::fuzz {
namespace {

using Sizes = std::vector<std::int64_t>;

Shape as_shape(const Sizes& sizes) { return {sizes.begin(), sizes.end()}; }

// A movement operation drawn in reverse: from the wanted shape to its operand's shape.
using Step = std::function<ShapeTracker(const ShapeTracker&)>;

Step step_permute(Chooser& chooser, Sizes& shape) {
  const std::vector<int> order = chooser.order<int>(shape.size());
  Sizes before(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    before[static_cast<std::size_t>(order[i])] = shape[i];
  shape = before;
  return [order](const ShapeTracker& st) { return st.permute(order); };
}

Step step_expand(Chooser& chooser, Sizes& shape) {
  const Shape wanted = as_shape(shape);
  for (std::int64_t& size : shape)
    if (chooser.chance(1, 2)) size = 1;
  return [wanted](const ShapeTracker& st) { return st.expand(wanted); };
}

Step step_pad(Chooser& chooser, Sizes& shape) {
  Padding padding;
  for (std::int64_t& size : shape) {
    const std::int64_t before = chooser.between(0, std::min<std::int64_t>(size, 2));
    const std::int64_t after = chooser.between(0, std::min<std::int64_t>(size - before, 2));
    padding.emplace_back(before, after);
    size -= before + after;
  }
  return [padding](const ShapeTracker& st) { return st.pad(padding); };
}

Step step_shrink(Chooser& chooser, Sizes& shape) {
  Mask keep;
  for (std::int64_t& size : shape) {
    const std::int64_t before = chooser.between(0, 2), after = chooser.between(0, 1);
    keep.emplace_back(before, before + size);
    size += before + after;
  }
  return [keep](const ShapeTracker& st) { return st.shrink(keep); };
}

Step step_stride(Chooser& chooser, Sizes& shape) {
  std::vector<std::int64_t> steps;
  for (std::int64_t& size : shape) {
    constexpr std::int64_t kSteps[] = {1, -1, 2, -2, 3};
    const std::int64_t step = kSteps[chooser.below(5)];
    steps.push_back(step);
    const std::int64_t magnitude = step < 0 ? -step : step;
    if (size > 0) size = (size - 1) * magnitude + 1 + chooser.between(0, magnitude - 1);
  }
  return [steps](const ShapeTracker& st) { return st.stride(steps); };
}

// Any factorisation of the element count, with some 1s.
Step step_reshape(Chooser& chooser, Sizes& shape) {
  const Shape wanted = as_shape(shape);
  if (const std::int64_t elements = product(shape); elements > 0)
    shape = chooser.factors(elements, 4);
  else
    shape.insert(shape.begin() + chooser.index(shape.size() + 1), 1);
  return [wanted](const ShapeTracker& st) { return st.reshape(wanted); };
}

}  // namespace

ShapeTracker draw_view(Chooser& chooser, const std::vector<std::int64_t>& shape) {
  constexpr Step (*kSteps[])(Chooser&, Sizes&) = {step_permute, step_expand, step_pad,
                                                  step_shrink,  step_stride, step_reshape};
  Sizes base = shape;
  std::vector<Step> steps;
  for (std::uint64_t count = chooser.below(6); count > 0; --count)
    if (product(base) < 4096) steps.push_back(kSteps[chooser.below(6)](chooser, base));
  ShapeTracker st = ShapeTracker::contiguous(as_shape(base));
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) st = (*step)(st);
  return st;
}

}  // namespace touchstone::fuzz
