#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone::model {

using Ints = std::vector<std::int64_t>;

inline Shape to_shape(const Ints& sizes) { return {sizes.begin(), sizes.end()}; }

inline std::int64_t count(const Ints& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  return n;
}

inline Ints unravel(std::int64_t flat, const Ints& shape) {
  Ints index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  return index;
}

/// Every element's buffer address in row-major order, -1 for padding.
struct Array {
  Ints shape;
  Ints address;

  static Array contiguous(const Ints& shape) {
    Array array{shape, Ints(static_cast<std::size_t>(count(shape)))};
    for (std::size_t i = 0; i < array.address.size(); ++i)
      array.address[i] = static_cast<std::int64_t>(i);
    return array;
  }

  std::int64_t at(const Ints& index) const {
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (index[i] < 0 || index[i] >= shape[i]) return -1;
      flat = flat * shape[i] + index[i];
    }
    return address[static_cast<std::size_t>(flat)];
  }

  /// The array of shape `wanted` whose element at an index is this array's at source(index).
  Array remap(const Ints& wanted, const std::function<Ints(const Ints&)>& source) const {
    Array result{wanted, {}};
    for (std::int64_t i = 0; i < count(wanted); ++i)
      result.address.push_back(at(source(unravel(i, wanted))));
    return result;
  }

  bool operator==(const Array&) const = default;
};

inline Array materialise(const View& view) {
  Array array{concrete(view.shape()), {}};
  for (std::int64_t i = 0; i < count(array.shape); ++i)
    array.address.push_back(view.at(unravel(i, array.shape)).value_or(-1));
  return array;
}

inline Array materialise(const ShapeTracker& tracker) {
  Array array{concrete(tracker.shape()), {}};
  for (std::int64_t i = 0; i < count(array.shape); ++i)
    array.address.push_back(tracker.at(unravel(i, array.shape)).value_or(-1));
  return array;
}

/// The single view equal to `shape` and `address` (of a flat index; nullopt is padding), found by
/// testing every element; nullopt if there is none.
inline std::optional<View> only_view(
    const Ints& shape, const std::function<std::optional<std::int64_t>(const Ints&)>& address) {
  const std::size_t rank = shape.size();
  Ints low(rank, INT64_MAX), high(rank, -1);
  bool any = false;
  for (std::int64_t i = 0; i < count(shape); ++i) {
    const Ints index = unravel(i, shape);
    if (!address(index)) continue;
    any = true;
    for (std::size_t a = 0; a < rank; ++a) {
      low[a] = std::min(low[a], index[a]);
      high[a] = std::max(high[a], index[a]);
    }
  }
  if (!any) {
    if (rank == 0) return std::nullopt;
    return View::strided(to_shape(shape), Strides(rank, 0), 0, Mask(rank, Range{0, 0}));
  }
  const std::optional<std::int64_t> base = address(low);
  if (!base) return std::nullopt;
  std::int64_t offset = *base;
  Ints strides(rank, 0);
  Mask mask;
  for (std::size_t a = 0; a < rank; ++a) {
    if (low[a] < high[a]) {
      Ints next = low;
      ++next[a];
      if (!address(next)) return std::nullopt;
      strides[a] = *address(next) - *base;
    }
    offset -= strides[a] * low[a];
    mask.emplace_back(low[a], high[a] + 1);
  }
  for (std::int64_t i = 0; i < count(shape); ++i) {
    const Ints index = unravel(i, shape);
    bool inside = true;
    std::int64_t wanted = offset;
    for (std::size_t a = 0; a < rank; ++a) {
      inside = inside && low[a] <= index[a] && index[a] <= high[a];
      wanted += strides[a] * index[a];
    }
    if (address(index) != (inside ? std::optional(wanted) : std::nullopt)) return std::nullopt;
  }
  return View::strided(to_shape(shape), Strides(strides.begin(), strides.end()), offset, mask);
}

inline std::optional<View> only_view(const Array& array) {
  return only_view(array.shape, [&](const Ints& index) -> std::optional<std::int64_t> {
    const std::int64_t address = array.at(index);
    return address < 0 ? std::nullopt : std::optional(address);
  });
}

}  // namespace touchstone::model
