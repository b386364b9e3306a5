#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "touchstone/view/shapetracker.h"

namespace touchstone::interp {

/// The addresses a concrete ShapeTracker gives to its elements, in row-major order, by the
/// definition of a view and nothing else: the outermost view is walked, each inner one unravels the
/// flat index it is handed. -1 where the element is masked out.
class Addresses {
 public:
  /// Of a scalar that reads element 0.
  Addresses() = default;
  /// st: concrete. order: a permutation of its axes; new axis i is old axis order[i].
  Addresses(const ShapeTracker& st, std::span<const int> order);

  /// Elements first, first + 1, ... of the logical shape.
  void read(std::int64_t first, std::span<std::int64_t> out) const;

 private:
  struct Axis {
    std::int64_t size, stride, begin, end;  // valid where begin <= index < end
  };
  struct FlatView {
    std::vector<Axis> axes;
    std::int64_t offset = 0;
  };
  static FlatView flatten(const View& view);
  static std::int64_t at(const FlatView& view, std::int64_t flat);
  void walk(std::int64_t first, std::span<std::int64_t> out) const;

  FlatView outer_;
  std::vector<FlatView> inner_;  // next to outer_ first
};

}  // namespace touchstone::interp
