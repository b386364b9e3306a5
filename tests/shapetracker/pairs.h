#pragma once

#include "draws.h"
#include "model.h"

namespace touchstone::model {

inline View strided(const Ints& shape, const Ints& strides, std::int64_t offset = 0,
                    std::optional<Mask> mask = std::nullopt) {
  return View::strided(to_shape(shape), Strides(strides.begin(), strides.end()), offset,
                       std::move(mask));
}

/// The same by trying every element: what `outer` reads of `inner`.
inline std::optional<View> merge_by_enumeration(const View& inner, const View& outer) {
  const Ints shape = concrete(inner.shape());
  return only_view(concrete(outer.shape()), [&](const Ints& index) -> std::optional<std::int64_t> {
    const std::optional<std::int64_t> k = outer.at(index);
    return k ? inner.at(unravel(*k, shape)) : std::nullopt;
  });
}

inline Mask any_mask(Draws& draws, const Ints& shape, std::int64_t one_in) {
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

inline View any_inner(Draws& draws) {
  Ints shape, strides;
  const std::int64_t rank = draws.between(0, 4), style = draws.below(4);
  for (std::int64_t i = 0; i < rank; ++i) shape.push_back(draws.between(1, 4));
  const std::int64_t x = draws.between(-3, 3);
  for (std::int64_t i = 0; i < rank; ++i)
    strides.push_back(style == 0   ? draws.between(-2, 2)
                      : style == 1 ? draws.between(-8, 8)
                                   : x * draws.between(-1, 1));
  if (style == 3) {
    const Strides row_major = row_major_strides(to_shape(shape));
    for (std::size_t i = 0; i < shape.size(); ++i)
      strides[i] = row_major[i].as_int() * (draws.one_in(4) ? -1 : 1);
  }
  return strided(shape, strides, draws.between(-5, 30), any_mask(draws, shape, 3));
}

/// A view that stays within the elements of `inner`.
inline View any_outer(Draws& draws, const View& inner) {
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

// VIEWS: the valid set is (subsets of `parts` with the sum `wanted`) x {(1, 0), (0, 1)}: a box only
// where there is no such subset.
inline std::vector<View> subset_sum(const Ints& parts, std::int64_t wanted) {
  std::int64_t total = 1;
  for (const std::int64_t part : parts) total += part;
  Ints shape(parts.size() + 2, 2), strides = parts;
  strides.push_back(total);
  strides.push_back(total);
  const std::int64_t only = wanted + total;
  return {strided({3 * total}, {1}, 0, Mask{{only, only + 1}}), strided(shape, strides)};
}

/// A pair without masks that is one view exactly where no subset of `parts` has the sum `wanted`.
/// The two floors of the inner view cancel, and along the last axis both carry when the sum of the
/// parts is `wanted` or more; only where it is `wanted` and the index before is 0 one does alone.
inline std::vector<View> subset_sum_unmasked(const Ints& parts, std::int64_t wanted) {
  std::int64_t total = 1;
  for (const std::int64_t part : parts) total += part;
  const std::int64_t fine = 4 * total, coarse = 4 * total;
  Ints shape(parts.size() + 2, 2), strides;
  for (const std::int64_t part : parts) strides.push_back(2 * part * (1 + fine));
  strides.push_back(fine);
  strides.push_back((coarse - 2 * wanted - 2) * fine + fine - 2 * wanted);
  return {strided({2, coarse, fine}, {1 - coarse, -1, 0}, 2 * coarse), strided(shape, strides)};
}

}  // namespace touchstone::model
