#include "touchstone/kernelize/elements.h"

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
