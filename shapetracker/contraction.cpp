#include <algorithm>

#include "touchstone/shapetracker/shapetracker.h"

namespace touchstone {
namespace {

std::vector<sint> running_products(std::span<const sint> shape) {
  std::vector<sint> products;
  sint product = 1;
  for (const sint& size : shape) products.push_back(product = product * size);
  return products;
}

}  // namespace

// Each new axis ends where the running products first agree, as tinygrad v0.8.0 does
// (shape/shapetracker.py, get_contraction); unlike there the groups are checked afterwards, for
// with a size of 0 all later products agree.
std::optional<std::vector<std::vector<int>>> get_contraction(std::span<const sint> old_shape,
                                                             std::span<const sint> new_shape) {
  const std::vector<sint> old_products = running_products(old_shape);
  const std::vector<sint> new_products = running_products(new_shape);
  std::vector<std::vector<int>> groups;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < new_shape.size(); ++i) {
    std::size_t end = begin;
    if (i + 1 == new_shape.size()) {
      end = old_shape.size();
    } else if (!(new_products[i] == sint(1))) {
      const auto found = std::ranges::find(old_products, new_products[i]);
      if (found == old_products.end()) return std::nullopt;
      end = static_cast<std::size_t>(found - old_products.begin()) + 1;
    }
    if (end < begin) return std::nullopt;
    if (!(elements(old_shape.subspan(begin, end - begin)) == new_shape[i])) return std::nullopt;
    std::vector<int>& group = groups.emplace_back();
    for (; begin < end; ++begin) group.push_back(static_cast<int>(begin));
  }
  if (!(elements(old_shape.subspan(begin)) == sint(1))) return std::nullopt;
  return groups;
}

}  // namespace touchstone
