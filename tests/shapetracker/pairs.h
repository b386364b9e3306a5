#pragma once

#include "model.h"
#include "touchstone/fuzz/choice/chooser.h"

namespace touchstone::model {

inline View strided(const Ints& shape, const Ints& strides, std::int64_t offset = 0,
                    std::optional<Mask> mask = std::nullopt) {
  return View::strided(to_shape(shape), Strides(strides.begin(), strides.end()), offset,
                       std::move(mask));
}

/// The same by testing every element that `outer` reads of `inner`.
inline std::optional<View> merge_by_enumeration(const View& inner, const View& outer) {
  const Ints shape = concrete(inner.shape());
  return only_view(concrete(outer.shape()), [&](const Ints& index) -> std::optional<std::int64_t> {
    const std::optional<std::int64_t> k = outer.at(index);
    return k ? inner.at(unravel(*k, shape)) : std::nullopt;
  });
}

inline Mask any_mask(fuzz::Chooser& draws, const Ints& shape, std::uint64_t one_in) {
  Mask mask;
  for (const std::int64_t size : shape) {
    std::int64_t begin = 0, end = size;
    if (draws.chance(1, one_in)) {
      begin = draws.between(0, size);
      end = draws.between(begin, size);
    }
    mask.emplace_back(begin, end);
  }
  return mask;
}

// VIEWS: the valid set is (subsets of `parts` with the sum `wanted`) x {(1, 0), (0, 1)}: a box only
// if no such subset exists.
inline std::vector<View> subset_sum(const Ints& parts, std::int64_t wanted) {
  std::int64_t total = 1;
  for (const std::int64_t part : parts) total += part;
  Ints shape(parts.size() + 2, 2), strides = parts;
  strides.push_back(total);
  strides.push_back(total);
  const std::int64_t only = wanted + total;
  return {strided({3 * total}, {1}, 0, Mask{{only, only + 1}}), strided(shape, strides)};
}

/// An unmasked pair that merges exactly if no subset of `parts` has the sum `wanted`. The inner
/// view's two floors cancel, and along the last axis both carry when the parts' sum is at least
/// `wanted`; only if it equals `wanted` and the preceding index is 0 does one carry alone.
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
