#pragma once

#include "touchstone/shapetracker/view.h"

namespace touchstone {

/// An element address and the condition under which it may be read (1 where always).
struct IndexExpr {
  symbolic::Node index;
  symbolic::Node valid;
};

/// A stack of views, innermost (next to the buffer) first, applied last to first. Immutable.
/// Movement operations act on the outermost view; views are merged wherever that is exact.
class ShapeTracker {
 public:
  ShapeTracker() : views_{View()} {}  // a scalar
  static ShapeTracker contiguous(Shape shape);
  /// Throws ShapeError where the stack is empty or a view can leave the one below it.
  /// So does one whose innermost view has a valid point below address 0.
  explicit ShapeTracker(std::vector<View> views);

  const std::vector<View>& views() const { return views_; }
  const Shape& shape() const { return views_.back().shape(); }
  int rank() const { return views_.back().rank(); }
  sint size() const { return views_.back().size(); }
  /// Some view has a mask.
  bool masked() const;
  bool is_contiguous() const { return views_.size() == 1 && views_[0].is_contiguous(); }
  /// No index is valid. Exact for concrete trackers (see merge_stack); with variables, true only
  /// where a view says so by itself.
  bool nothing_valid() const;

  ShapeTracker reshape(const Shape& shape) const;
  ShapeTracker permute(std::span<const int> order) const;
  ShapeTracker expand(const Shape& shape) const;
  ShapeTracker pad(const Padding& padding) const;
  ShapeTracker shrink(const Mask& keep) const;
  ShapeTracker stride(std::span<const std::int64_t> steps) const;
  /// Reads the flat logical elements of *this through a strided view of shape `shape`.
  /// Throws ShapeError where an address could leave [0, size()).
  ShapeTracker as_strided(const Shape& shape, const Strides& strides, const sint& offset = 0) const;

  /// `inner` seen through `outer`: the views of `outer` are applied on top of those of `inner`.
  /// outer's buffer is inner's logical elements: sizes must allow it.
  friend ShapeTracker operator+(const ShapeTracker& inner, const ShapeTracker& outer);

  /// Address and validity for one index expression per axis; the default are variables idx0, idx1,
  /// ... with bounds [0, size).
  IndexExpr expr_idxs(std::span<const symbolic::Node> indices) const;
  IndexExpr expr_idxs() const;
  /// The same for one flat logical index (variable "idx" by default).
  IndexExpr expr_node(symbolic::Node flat) const;
  IndexExpr expr_node() const;

  /// Stride of the address along each axis where the address is that stride times the index plus
  /// something free of the index; 0 where the axis does not occur; nullopt where it occurs under a
  /// division, modulo or (unless ignore_valid) in the validity.
  std::vector<std::optional<sint>> real_strides(bool ignore_valid = false) const;
  std::vector<int> unit_stride_axes() const;
  bool axis_is_masked(int axis) const;
  /// One more than the largest address a valid index reaches; 0 where nothing is valid. Exact for
  /// concrete trackers (within the budget of highest_address), else no smaller.
  std::int64_t real_size() const;

  /// The fewest views found that say the same: runs of neighbours that are one view become it.
  /// Movement operations do this for the runs that end at the outermost view.
  ShapeTracker simplify() const;

  /// Address in the buffer, or nullopt where masked out. Concrete trackers only.
  std::optional<std::int64_t> at(std::span<const std::int64_t> index) const;

  /// The variables in any view, sorted by name.
  std::vector<symbolic::Node> vars() const;
  /// Of `values`, those of vars(): what a kernel that reads through the tracker is launched with.
  /// Throws ShapeError where one is missing or outside its bounds.
  symbolic::Values var_vals(const symbolic::Values& values) const;
  /// The tracker with its variables replaced by values, of which there may be too few or too many.
  ShapeTracker bind(const symbolic::Values& values) const;

  std::string str() const;
  std::uint64_t hash() const;
  bool operator==(const ShapeTracker&) const = default;

 private:
  /// The stack with `top` as its outermost view, merged downwards where that is exact.
  ShapeTracker with_top(View top) const;

  std::vector<View> views_;
};

/// For each new axis the old axes that it is made of, neighbours in order.
using Contraction = std::vector<std::vector<int>>;

/// Groups of neighbouring old axes whose products make each new axis, all old axes in order, or
/// nullopt: (2,3,4) -> (6,4) is {{0,1},{2}}. Axes of size 1 may give empty groups, and stand in the
/// group after them where there is one.
std::optional<Contraction> get_contraction(std::span<const sint> old_shape,
                                           std::span<const sint> new_shape);

/// The same where the new axes `reduce_axes` are reduced: each of them is made of at least one old
/// axis, which can be reduced in its place; an axis of size 1 takes one of size 1 from its
/// neighbours. (4,1) -> (4,1) with axis 1 reduced is {{0},{1}}; nullopt where some reduced axis can
/// have none. Throws ShapeError on an axis outside the new shape.
std::optional<Contraction> get_contraction_with_reduce(std::span<const sint> old_shape,
                                                       std::span<const sint> new_shape,
                                                       std::span<const int> reduce_axes);

}  // namespace touchstone
