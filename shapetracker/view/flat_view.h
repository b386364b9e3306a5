#pragma once

#include <optional>
#include <span>

#include <boost/container/small_vector.hpp>

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

template <typename T>
using Small = boost::container::small_vector<T, 8>;

/// For arithmetic modulo 2^64.
inline std::uint64_t wrap(std::int64_t value) { return static_cast<std::uint64_t>(value); }

/// One digit of a flat index k, floor(k / weight) mod size, and the boundary above it.
struct Level {
  std::int64_t weight;
  std::int64_t size;
  std::int64_t span;  // weight * size
  std::int64_t stride;
  std::int64_t begin, end;  // valid digits
  Wide jump = 0;  // change of the address, mod 2^128, when floor(k / span) increases by one: the
                  // next stride minus size * stride; 0 at the top

  bool cut() const { return begin > 0 || end < size; }
  // Valid where low() <= k mod span <= high().
  std::int64_t low() const { return begin * weight; }
  std::int64_t high() const { return end * weight - 1; }
};

/// A concrete view as a function of the flat index of its elements, the integer counterpart of
/// join_digits for the merge search:
/// address = offset + levels[0].stride * k + sum(jump_i * floor(k / span_i)).
class FlatView {
 public:
  /// view: concrete, with a valid point.
  explicit FlatView(const View& view);

  std::span<const Level> levels() const { return {levels_.data(), levels_.size()}; }
  std::int64_t size() const { return size_; }
  bool masked() const { return masked_; }

  /// Address of flat index k in [0, size); nullopt if masked out.
  std::optional<std::int64_t> at(std::int64_t k) const;
  /// Replaces flat index k by the address; false if masked out.
  bool descend(std::int64_t& k) const;

 private:
  Small<Level> levels_;       // fine to coarse
  std::uint64_t offset_ = 0;  // mod 2^64, like all sums: addresses of valid points fit
  std::int64_t size_ = 1;
  bool masked_ = false;
};

/// One digit of a flat index as a mixed-radix number: floor(flat / weight) mod size.
struct Digit {
  sint weight;
  sint size;
  sint stride;
  sint begin, end;  // valid values
};

/// A view as a function of the flat index of its elements: offset + sum(digit * stride).
struct Digits {
  std::vector<Digit> digits;  // fine to coarse; size 1 only if masked by variables
  sint offset;
};

/// The fewest digits found that agree with `view` at its valid points: neighbours are joined if the
/// finer is unmasked and the strides continue, or if the coarser has one valid value.
/// view.nothing_valid() must be false.
Digits join_digits(const View& view);

}  // namespace touchstone::shapetracker
