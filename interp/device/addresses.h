#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone::interp {

/// Consecutive elements with addresses a constant step apart: base, base + stride, ...; base -1 and
/// stride 0 if none is valid.
struct AddressRun {
  std::int64_t count = 0;
  std::int64_t base = -1;
  std::int64_t stride = 0;

  bool valid() const { return base >= 0; }
  /// The address of element k; for a single element the stride is arbitrary.
  std::int64_t at(std::int64_t k) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(base) +
                                     static_cast<std::uint64_t>(k) *
                                         static_cast<std::uint64_t>(stride));
  }
  std::int64_t least() const { return std::min(base, at(count - 1)); }
  std::int64_t most() const { return std::max(base, at(count - 1)); }
  bool operator==(const AddressRun&) const = default;
};

/// The addresses of a concrete ShapeTracker's elements in row-major order, computed by the
/// definition of a view: the outermost view is walked, each inner one unravels the flat index it
/// receives. -1 if the element is masked out.
class Addresses {
 public:
  /// A scalar that reads element 0.
  Addresses() = default;
  /// st: concrete. order: axes of st, each at most once; new axis i is old axis order[i]. An
  /// omitted axis stays at index 0.
  Addresses(const ShapeTracker& st, std::span<const int> order);

  /// Reads elements first, first + 1, ... of the logical shape.
  void read(std::int64_t first, std::span<std::int64_t> out) const;
  /// Reads `count` elements as runs, in order. A run ends where an axis does, unless the next one
  /// continues it.
  void runs(std::int64_t first, std::int64_t count, std::vector<AddressRun>& out) const;
  /// True only if all addresses are equal.
  bool operator==(const Addresses&) const = default;

 private:
  struct Axis {
    std::int64_t size, stride, begin, end;  // valid if begin <= index < end
    bool masked() const { return begin > 0 || end < size; }
    bool operator==(const Axis&) const = default;
  };
  struct FlatView {
    // Without irrelevant axes of size 1; two axes of which one continues the rows of the other are
    // merged.
    std::vector<Axis> axes;
    std::int64_t offset = 0;
    bool operator==(const FlatView&) const = default;
  };
  static std::uint64_t way(const Axis& axis, std::int64_t steps);  // modulo 2^64
  static FlatView flatten(const View& view, std::span<const int> order);
  static void through(const FlatView& view, AddressRun flat, std::vector<AddressRun>& out);
  void walk(std::int64_t first, std::int64_t count, std::vector<AddressRun>& out) const;

  FlatView outer_;
  std::vector<FlatView> inner_;  // outermost first
};

}  // namespace touchstone::interp
