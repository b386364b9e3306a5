#include "touchstone/kernelize/elements.h"

#include <algorithm>

#include <fmt/format.h>

#include "touchstone/base/checked.h"

namespace touchstone {

std::int64_t max_elements(const Shape& shape) {
  std::int64_t n = 1;
  for (const sint& s : shape) {
    const std::optional<std::int64_t> most = s.is_int() ? s.as_int() : s.max();
    if (!most)
      throw ShapeError(fmt::format("size {} of shape {} has no upper bound; bound its variables",
                                   s.str(), str(shape)));
    n = checked_mul(n, *most);
  }
  return n;
}

bool has_no_elements(const Shape& shape) {
  return std::ranges::any_of(shape, [](const sint& s) { return s == sint(0); });
}

Mask whole_mask(const Shape& shape) {
  Mask keep;
  for (const sint& s : shape) keep.emplace_back(0, s);
  return keep;
}

Mask part_mask(const Shape& shape, int axis, const sint& i, std::size_t count) {
  const sint part =
      floor_div(shape[static_cast<std::size_t>(axis)], static_cast<std::int64_t>(count));
  const sint first = i * part;
  Mask keep = whole_mask(shape);
  keep[static_cast<std::size_t>(axis)] = {first, first + part};
  return keep;
}

std::int64_t kernelize::unmasked_elements(const View& view) {
  if (!view.mask()) return max_elements(view.shape());
  Shape inside;
  for (const auto& [begin, end] : *view.mask()) inside.push_back(end - begin);
  return max_elements(inside);
}

bool kernelize::grows(std::int64_t elements, const ShapeTracker& st) {
  if (max_elements(st.shape()) <= elements) return false;
  const bool only_pads =
      st.views().size() == 1 && st.masked() && unmasked_elements(st.views()[0]) <= elements;
  return !only_pads;
}

}  // namespace touchstone
