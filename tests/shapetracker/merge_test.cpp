#include "touchstone/shapetracker/merge.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "draws.h"
#include "model.h"

namespace touchstone {
namespace {

using model::Draws;
using model::Ints;
using shapetracker::merge_stack;
using shapetracker::MergeAnswer;

View strided(const Ints& shape, const Ints& strides, std::int64_t offset = 0,
             std::optional<Mask> mask = std::nullopt) {
  return View::strided(model::to_shape(shape), Strides(strides.begin(), strides.end()), offset,
                       std::move(mask));
}

/// The same by trying every element: what `outer` reads of `inner`.
std::optional<View> merge_by_enumeration(const View& inner, const View& outer) {
  const Ints shape = concrete(inner.shape());
  return model::only_view(concrete(outer.shape()),
                          [&](const Ints& index) -> std::optional<std::int64_t> {
                            const std::optional<std::int64_t> k = outer.at(index);
                            return k ? inner.at(model::unravel(*k, shape)) : std::nullopt;
                          });
}

Mask any_mask(Draws& draws, const Ints& shape, std::int64_t one_in) {
  Mask mask;
  for (const std::int64_t size : shape) {
    std::int64_t begin = 0, end = size;
    if (draws.one_in(one_in)) {
      begin = draws.between(0, size);
      end = draws.between(begin, size);
    }
    mask.emplace_back(begin, end);
  }
  return mask;
}

View any_inner(Draws& draws) {
  Ints shape, strides;
  const std::int64_t rank = draws.between(0, 4), style = draws.below(4);
  for (std::int64_t i = 0; i < rank; ++i) shape.push_back(draws.between(1, 4));
  const std::int64_t x = draws.between(-3, 3);
  for (std::int64_t i = 0; i < rank; ++i)
    strides.push_back(style == 0   ? draws.between(-2, 2)
                      : style == 1 ? draws.between(-8, 8)
                                   : x * draws.between(-1, 1));
  if (style == 3) {
    const Strides row_major = row_major_strides(model::to_shape(shape));
    for (std::size_t i = 0; i < shape.size(); ++i)
      strides[i] = row_major[i].as_int() * (draws.one_in(4) ? -1 : 1);
  }
  return strided(shape, strides, draws.between(-5, 30), any_mask(draws, shape, 3));
}

/// A view that stays within the elements of `inner`.
View any_outer(Draws& draws, const View& inner) {
  const std::int64_t size = inner.size().as_int();
  const Strides weights = row_major_strides(inner.shape());
  Ints shape, strides;
  const std::int64_t rank = draws.between(0, 4);
  std::int64_t low = 0, high = 0;
  for (std::int64_t i = 0; i < rank; ++i) {
    std::int64_t stride = draws.between(-5, 5);
    if (!weights.empty() && draws.below(3) > 0)
      stride = weights[static_cast<std::size_t>(draws.below(inner.rank()))].as_int() *
               draws.between(-1, 2);
    std::int64_t extent = draws.between(1, 4);
    while (high - low + std::abs(stride) * (extent - 1) >= size) --extent;
    (stride < 0 ? low : high) += stride * (extent - 1);
    shape.push_back(extent);
    strides.push_back(stride);
  }
  std::int64_t offset = draws.between(0, size - 1 - (high - low)) - low;
  // Outside the mask an index may be anything: grow the axes and mask the growth.
  Mask mask;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t before = draws.one_in(4) ? draws.between(1, 2) : 0;
    const std::int64_t after = draws.one_in(4) ? draws.between(1, 2) : 0;
    mask.emplace_back(before, before + shape[i]);
    shape[i] += before + after;
    offset -= before * strides[i];
  }
  return strided(shape, strides, offset, mask);
}

RC_GTEST_PROP(Merge, FindsExactlyTheViewsThatExist, ()) {
  for (int i = 0; i < 60; ++i) {
    Draws draws(*rc::gen::noShrink(model::any_draws(70)));
    const View inner = any_inner(draws), outer = any_outer(draws, inner);
    const auto found = View::merge(inner, outer);
    const auto wanted = merge_by_enumeration(inner, outer);
    if (found != wanted)
      RC_FAIL(fmt::format("{} on {}: found {}, wanted {}", outer.str(), inner.str(),
                          found ? found->str() : "none", wanted ? wanted->str() : "none"));
  }
}

}  // namespace
}  // namespace touchstone
