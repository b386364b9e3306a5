#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/symbolic/node/sint.h"

namespace touchstone {

using Shape = std::vector<sint>;                     // elements per axis
using Strides = std::vector<sint>;                   // in elements
using Range = std::pair<sint, sint>;                 // [begin, end)
using Mask = std::vector<Range>;                     // readable range per axis
using Padding = std::vector<std::pair<sint, sint>>;  // elements before and after, per axis

/// Product of the sizes; 1 for rank 0.
sint elements(std::span<const sint> shape);
/// Row-major strides; 0 on axes of size 1.
Strides row_major_strides(std::span<const sint> shape);
std::string str(std::span<const sint> shape);  // "(2, 3)"
/// The values of a list without variables. Throws ShapeError naming the first symbolic entry.
std::vector<std::int64_t> concrete(std::span<const sint> values);

/// Maps a logical index to a flat element index, offset + sum(index[i] * strides[i]), and to its
/// validity, whether the index is inside the mask; outside it the element is 0 and nothing is read.
/// Immutable and canonical: strides are 0 on axes whose valid extent is one (folded into the
/// offset), a full mask is absent, and a view without a valid point has strides 0, offset 0 and
/// every mask range [0, 0).
class View {
 public:
  View() = default;  // the scalar
  /// Row-major, offset 0, no mask. Throws ShapeError on a negative size.
  static View contiguous(Shape shape);
  /// Any strided view in canonical form. Throws ShapeError if ranks disagree, a size is negative,
  /// or a mask range is not within [0, size].
  static View strided(Shape shape, Strides strides, sint offset = 0,
                      std::optional<Mask> mask = std::nullopt);
  /// The same without these checks; a mask range with begin >= end is empty. Like the others,
  /// throws OverflowError if a concrete address or the number of elements exceeds 64 bits.
  static View trusted(Shape shape, Strides strides, sint offset, std::optional<Mask> mask);

  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  const sint& offset() const { return offset_; }
  const std::optional<Mask>& mask() const { return mask_; }
  /// The readable indices of an axis, all if there is no mask; of every axis.
  Range range(std::size_t axis) const { return mask_ ? (*mask_)[axis] : Range{0, shape_[axis]}; }
  Mask ranges() const;
  int rank() const { return static_cast<int>(shape_.size()); }
  sint size() const { return elements(shape_); }
  /// The product of the largest sizes: the number of elements to allocate. Throws ShapeError if a
  /// size has no upper bound, OverflowError beyond 64 bits.
  std::int64_t max_size() const;
  /// True if equal to contiguous(shape()), as every view with an axis of size 0 is.
  bool is_contiguous() const;
  /// True if row-major and unmasked, at any offset: consecutive elements in order.
  bool consecutive() const;
  /// True if no index is valid: the mask is empty or an axis has size 0. A view of rank 0 has no
  /// axis to mask; only a stack can express that.
  bool nothing_valid() const;
  /// True if no variable occurs.
  bool is_concrete() const;

  // Movement. Each throws ShapeError that names the mismatch.
  View permute(std::span<const int> order) const;          // new axis i is old axis order[i]
  View expand(const Shape& shape) const;                   // axes of size 1 grow
  View pad(const Padding& padding) const;                  // both >= 0; new elements are invalid
  View shrink(const Mask& keep) const;                     // keep [begin, end) of each axis
  View stride(std::span<const std::int64_t> steps) const;  // every |m|-th; negative m flips first
  View flip(std::span<const int> axes) const;              // reverses these axes; each at most once
  /// The same elements in row-major order under another shape, if the strides show it: axes of size
  /// 1 come and go, unmasked neighbours with continuing strides are joined and split. nullopt
  /// otherwise, even if another single view exists; merging finds it.
  std::optional<View> reshape(const Shape& shape) const;
  /// The same elements in row-major order with the fewest axes that the strides show: axes of size
  /// 1 are dropped, neighbours with continuing strides are joined.
  View minify() const;

  /// Flat index; nullopt if masked out. Concrete views only; the index must be inside the shape.
  std::optional<std::int64_t> at(std::span<const std::int64_t> index) const;
  /// The view with variables replaced by values.
  View bind(const symbolic::Values& values) const;
  /// The view with variables replaced simultaneously by expressions. Throws ShapeError if one may
  /// leave the bounds of its variable.
  View substitute(const std::map<std::string, symbolic::Node>& replacements) const;

  /// Calls visit(entry) for the sizes, the strides, the offset, and the ends of the mask.
  template <class Visit>
  void each(const Visit& visit) const {
    each_of(*this, visit);
  }

  std::string str() const;
  std::uint64_t hash() const;
  bool operator==(const View&) const = default;

 private:
  template <class Self, class Visit>
  static void each_of(Self& self, const Visit& visit) {
    for (auto& size : self.shape_) visit(size);
    for (auto& stride : self.strides_) visit(stride);
    visit(self.offset_);
    if (!self.mask_) return;
    for (auto& [begin, end] : *self.mask_) {
      visit(begin);
      visit(end);
    }
  }

  Shape shape_;
  Strides strides_;
  sint offset_ = 0;
  std::optional<Mask> mask_;
};

/// Lowest and highest address of the view's valid points, both inclusive: exact for concrete views,
/// else for the variable values with a valid point. view.nothing_valid() must be false.
std::pair<sint, sint> address_range(const View& view);

namespace shapetracker {

__extension__ using Wide = __int128;

/// An axis of a concrete view, with its readable indices [begin, end).
struct AxisNumbers {
  std::int64_t size, stride, begin, end;
};
AxisNumbers axis_of(const View& view, std::size_t axis);

/// address_range of a concrete view whose addresses may not fit in 64 bits; inexact beyond 2^100.
std::pair<Wide, Wide> wide_range(const View& view);

}  // namespace shapetracker

}  // namespace touchstone
