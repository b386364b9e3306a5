#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone::interp {

/// Consecutive elements whose addresses are a constant step apart: base, base + stride, ...; or of
/// which none is valid (base -1, stride 0).
struct AddressRun {
  std::int64_t count = 0;
  std::int64_t base = -1;
  std::int64_t stride = 0;

  bool valid() const { return base >= 0; }
  /// The address of element k; of a single element the stride may lie anywhere.
  std::int64_t at(std::int64_t k) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(base) +
                                     static_cast<std::uint64_t>(k) *
                                         static_cast<std::uint64_t>(stride));
  }
  std::int64_t least() const { return std::min(base, at(count - 1)); }
  std::int64_t most() const { return std::max(base, at(count - 1)); }
  bool operator==(const AddressRun&) const = default;
};

/// The addresses a concrete ShapeTracker gives to its elements, in row-major order, by the
/// definition of a view and nothing else: the outermost view is walked, each inner one unravels the
/// flat index it is handed. -1 where the element is masked out.
class Addresses {
 public:
  /// Of a scalar that reads element 0.
  Addresses() = default;
  /// st: concrete. order: axes of it, each once; new axis i is old axis order[i]. An axis that is
  /// left out stays at index 0.
  Addresses(const ShapeTracker& st, std::span<const int> order);

  /// Elements first, first + 1, ... of the logical shape.
  void read(std::int64_t first, std::span<std::int64_t> out) const;
  /// The same `count` elements as runs, in order. A run ends where an axis does, unless the next
  /// one goes on as it did.
  void runs(std::int64_t first, std::int64_t count, std::vector<AddressRun>& out) const;

 private:
  struct Axis {
    std::int64_t size, stride, begin, end;  // valid where begin <= index < end
    bool masked() const { return begin > 0 || end < size; }
  };
  struct FlatView {
    // Without those of size 1 that decide nothing; two of which the one goes on where a row of the
    // other ends are one.
    std::vector<Axis> axes;
    std::int64_t offset = 0;
  };
  static std::uint64_t way(const Axis& axis, std::int64_t steps);  // modulo 2^64
  static FlatView flatten(const View& view, std::span<const int> order);
  static void through(const FlatView& view, AddressRun flat, std::vector<AddressRun>& out);
  void walk(std::int64_t first, std::int64_t count, std::vector<AddressRun>& out) const;

  FlatView outer_;
  std::vector<FlatView> inner_;  // next to outer_ first
};

}  // namespace touchstone::interp
