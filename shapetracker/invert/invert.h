#pragma once

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// The right inverse of a tracker V. Let N be V.real_size(): V's valid points read addresses in [0,
/// N).
struct Inverse {
  /// G with V(G(y)) = y for every flat index y in [0, N): G reads flat elements of V, never
  /// padding. nullopt if V misses an address in [0, N) or no G was found.
  std::optional<ShapeTracker> tracker;
  /// V maps its valid points one to one onto [0, N). Decided by `tracker` or, without it, by
  /// counting up to 2^22 elements.
  bool bijection = false;
};

/// A right inverse of a concrete tracker. Every result is proved: V composed with G is the
/// identity. Stacks are inverted view by view from the buffer outwards, after simplify() or with
/// views rewritten; a map of up to 2^16 elements also as a table.
/// Throws ShapeError if `tracker` has variables.
Inverse invert(const ShapeTracker& tracker);

/// The view of the given shape that inverts a concrete view V: V(G(y)) = y for every flat index y.
/// nullopt if V does not read exactly the addresses [0, elements(shape)), or no single view was
/// found. Throws ShapeError if there are variables or V reads below the buffer.
std::optional<View> invert(const View& view, const Shape& shape);

}  // namespace touchstone
