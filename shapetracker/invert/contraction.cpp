#include "touchstone/shapetracker/invert/contraction.h"

namespace touchstone {
namespace {

/// Computes if new axes [i, n) can be formed from old axes [from, m), each wanted one from at least
/// one.
class Suffixes {
 public:
  Suffixes(std::span<const sint> old_shape, std::span<const sint> new_shape,
           const std::vector<bool>& wanted)
      : old_(old_shape), new_(new_shape), wanted_(wanted), fits_(new_shape.size() + 1) {
    const std::size_t n = new_.size(), m = old_.size();
    for (auto& row : fits_) row.assign(m + 1, false);
    for (std::size_t from = 0; from <= m; ++from)
      fits_[n][from] = n == 0 ? holds(old_.subspan(from), 1) : from == m;
    for (std::size_t i = n; i-- > 0;)
      for (std::size_t from = 0; from <= m; ++from) fits_[i][from] = first_end(i, from) <= m;
  }

  bool fits() const { return fits_[0][0]; }
  /// The least end of old axes from `from` that form new axis i and leave a solution for the rest;
  /// beyond all axes if there is none.
  std::size_t first_end(std::size_t i, std::size_t from) const {
    for (std::size_t end = wanted_[i] ? from + 1 : from; end <= old_.size(); ++end)
      if (fits_[i + 1][end] && holds(old_.subspan(from, end - from), new_[i])) return end;
    return old_.size() + 1;
  }

 private:
  static bool holds(std::span<const sint> sizes, const sint& count) {
    try {
      return certainly_eq(elements(sizes), count);
    } catch (const OverflowError&) {  // larger than any size
      return false;
    }
  }

  std::span<const sint> old_, new_;
  const std::vector<bool>& wanted_;
  std::vector<std::vector<bool>> fits_;
};

}  // namespace

// Groups end as early as possible, so axes of size 1 join the following group; the last group takes
// the rest. tinygrad (get_contraction) compares running products instead, which fails for sizes of
// 0: they make all later products equal.
std::optional<Contraction> get_contraction(std::span<const sint> old_shape,
                                           std::span<const sint> new_shape) {
  return get_contraction_with_reduce(old_shape, new_shape, {});
}

std::optional<Contraction> get_contraction_with_reduce(std::span<const sint> old_shape,
                                                       std::span<const sint> new_shape,
                                                       std::span<const int> reduce_axes) {
  std::vector<bool> wanted(new_shape.size(), false);
  for (const int axis : reduce_axes) {
    if (axis < 0 || static_cast<std::size_t>(axis) >= new_shape.size())
      throw ShapeError(
          fmt::format("get_contraction_with_reduce: axis {} of shape {} must be within [0, {})",
                      axis, str(new_shape), new_shape.size()));
    wanted[static_cast<std::size_t>(axis)] = true;
  }
  const Suffixes suffixes(old_shape, new_shape, wanted);
  if (!suffixes.fits()) return std::nullopt;
  Contraction groups(new_shape.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < new_shape.size(); ++i)
    for (const std::size_t end = suffixes.first_end(i, next); next < end; ++next)
      groups[i].push_back(static_cast<int>(next));
  return groups;
}

}  // namespace touchstone
