#pragma once

#include "touchstone/shapetracker/view/view.h"

namespace touchstone {

/// A stack of views, innermost (next to the buffer) first, applied last to first. Immutable.
/// Movement operations change only the outermost view and push a new one if it cannot express the
/// result; nothing is searched. `simplify` and `merge_outermost` of the module above reduce the
/// number of views.
class ShapeTracker {
 public:
  ShapeTracker() : views_{View()} {}  // a scalar
  static ShapeTracker contiguous(Shape shape);
  /// One view with these strides and offset 0. Throws ShapeError like View::strided, or if it reads
  /// below the buffer.
  static ShapeTracker from_shape(Shape shape, Strides strides);
  static ShapeTracker from_shape(Shape shape) { return contiguous(std::move(shape)); }
  /// Throws ShapeError if the stack is empty, a view can leave the one below it, or the innermost
  /// view has a valid point below address 0.
  explicit ShapeTracker(std::vector<View> views);
  /// The same without checks: at least one view, and they must fit each other.
  static ShapeTracker trusted(std::vector<View> views);

  const std::vector<View>& views() const { return views_; }
  const Shape& shape() const { return views_.back().shape(); }
  int rank() const { return views_.back().rank(); }
  sint size() const { return views_.back().size(); }
  /// True if some view has a mask.
  bool masked() const;
  bool is_contiguous() const { return views_.size() == 1 && views_[0].is_contiguous(); }
  /// True for one row-major, unmasked view, at any offset.
  bool consecutive() const { return views_.size() == 1 && views_[0].consecutive(); }
  /// View::max_size of the outermost view.
  std::int64_t max_size() const { return views_.back().max_size(); }
  /// True if no index is valid. Exact for concrete trackers, within the budget of real_size; with
  /// variables, true only if one view alone implies it.
  bool nothing_valid() const;

  ShapeTracker reshape(const Shape& shape) const;
  ShapeTracker permute(std::span<const int> order) const;
  ShapeTracker expand(const Shape& shape) const;
  ShapeTracker pad(const Padding& padding) const;
  ShapeTracker shrink(const Mask& keep) const;
  ShapeTracker stride(std::span<const std::int64_t> steps) const;
  ShapeTracker flip(std::span<const int> axes) const;
  /// Reads the flat logical elements of *this through a strided view of the given shape. Throws
  /// ShapeError if an address could leave [0, size()).
  ShapeTracker as_strided(const Shape& shape, const Strides& strides, const sint& offset = 0) const;

  /// `inner` seen through `outer`: the views of `outer` on top of those of `inner`. outer's buffer
  /// is inner's logical elements, so sizes must allow it.
  friend ShapeTracker operator+(const ShapeTracker& inner, const ShapeTracker& outer);

  /// One more than the largest address that a valid index reads; 0 if nothing is valid. Exact for
  /// concrete trackers (if `highest_address` decides within its budget), else an upper bound.
  /// Throws ShapeError if variables have no upper bound.
  std::int64_t real_size() const;

  /// Address in the buffer; nullopt if masked out. Concrete trackers only.
  std::optional<std::int64_t> at(std::span<const std::int64_t> index) const;

  /// The variables of all views, sorted by name.
  std::vector<symbolic::Node> vars() const;
  /// The tracker with variables replaced by values, of which there may be too few or too many:
  /// entries are evaluated, views are kept. Throws ShapeError on a value outside its variable's
  /// bounds.
  ShapeTracker bind(const symbolic::Values& values) const;
  /// View::substitute in every view.
  ShapeTracker substitute(const std::map<std::string, symbolic::Node>& replacements) const;

  std::string str() const;
  std::uint64_t hash() const;
  bool operator==(const ShapeTracker&) const = default;

 private:
  /// The stack with its outermost view replaced by `top`.
  ShapeTracker with_top(View top) const;
  /// The stack with `top` pushed; its addresses must lie within the stack's elements.
  ShapeTracker pushed(View top) const;

  std::vector<View> views_;
};

}  // namespace touchstone
