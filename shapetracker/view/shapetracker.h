#pragma once

#include "touchstone/shapetracker/view/view.h"

namespace touchstone {

/// A stack of views, innermost (next to the buffer) first, applied last to first. Immutable.
/// Movement operations act on the outermost view alone, and push a view where it cannot say the
/// result: nothing is searched. Fewer views are a question for the module above (`simplify`,
/// `merge_outermost`), which reasons; this one only defines.
class ShapeTracker {
 public:
  ShapeTracker() : views_{View()} {}  // a scalar
  static ShapeTracker contiguous(Shape shape);
  /// One view with these strides, offset 0. Throws ShapeError as View::strided does, and where it
  /// reads below the buffer.
  static ShapeTracker from_shape(Shape shape, Strides strides);
  static ShapeTracker from_shape(Shape shape) { return contiguous(std::move(shape)); }
  /// Throws ShapeError where the stack is empty or a view can leave the one below it.
  /// So does one whose innermost view has a valid point below address 0.
  explicit ShapeTracker(std::vector<View> views);
  /// The same for views that are known to fit each other, at least one.
  static ShapeTracker trusted(std::vector<View> views);

  const std::vector<View>& views() const { return views_; }
  const Shape& shape() const { return views_.back().shape(); }
  int rank() const { return views_.back().rank(); }
  sint size() const { return views_.back().size(); }
  /// Some view has a mask.
  bool masked() const;
  bool is_contiguous() const { return views_.size() == 1 && views_[0].is_contiguous(); }
  /// One view, row-major and unmasked, at any offset.
  bool consecutive() const { return views_.size() == 1 && views_[0].consecutive(); }
  /// As View::max_size, of the outermost view.
  std::int64_t max_size() const { return views_.back().max_size(); }
  /// No index is valid. Exact for concrete trackers, within the budget of real_size; with
  /// variables, true only where a view says so by itself.
  bool nothing_valid() const;

  ShapeTracker reshape(const Shape& shape) const;
  ShapeTracker permute(std::span<const int> order) const;
  ShapeTracker expand(const Shape& shape) const;
  ShapeTracker pad(const Padding& padding) const;
  ShapeTracker shrink(const Mask& keep) const;
  ShapeTracker stride(std::span<const std::int64_t> steps) const;
  ShapeTracker flip(std::span<const int> axes) const;
  /// Reads the flat logical elements of *this through a strided view of shape `shape`.
  /// Throws ShapeError where an address could leave [0, size()).
  ShapeTracker as_strided(const Shape& shape, const Strides& strides, const sint& offset = 0) const;

  /// `inner` seen through `outer`: the views of `outer` are applied on top of those of `inner`.
  /// outer's buffer is inner's logical elements: sizes must allow it.
  friend ShapeTracker operator+(const ShapeTracker& inner, const ShapeTracker& outer);

  /// One more than the largest address a valid index reaches; 0 where nothing is valid. Exact for
  /// concrete trackers (where `highest_address` decides within its budget), else no smaller. Throws
  /// ShapeError where variables have no upper bound.
  std::int64_t real_size() const;

  /// Address in the buffer, or nullopt where masked out. Concrete trackers only.
  std::optional<std::int64_t> at(std::span<const std::int64_t> index) const;

  /// The variables in any view, sorted by name.
  std::vector<symbolic::Node> vars() const;
  /// Of `values`, those of vars(): what a kernel that reads through the tracker is launched with.
  /// Throws ShapeError where one is missing or outside its bounds.
  symbolic::Values var_vals(const symbolic::Values& values) const;
  /// The tracker with its variables replaced by values, of which there may be too few or too many:
  /// entries are evaluated as the operators define, views stay as they are. Throws ShapeError on a
  /// value outside the bounds of its variable.
  ShapeTracker bind(const symbolic::Values& values) const;
  /// As View::substitute, in every view.
  ShapeTracker substitute(const std::map<std::string, symbolic::Node>& replacements) const;

  std::string str() const;
  std::uint64_t hash() const;
  bool operator==(const ShapeTracker&) const = default;

 private:
  /// The stack with `top` in place of its outermost view.
  ShapeTracker with_top(View top) const;
  /// The stack with `top` on it, whose addresses lie within the elements of the stack.
  ShapeTracker pushed(View top) const;

  std::vector<View> views_;
};

}  // namespace touchstone
