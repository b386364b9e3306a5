#pragma once

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// The right inverse of a tracker V. Let N be V.real_size(), so that V's valid points read
/// addresses in [0, N).
struct Inverse {
  /// G with V(G(y)) = y for every flat index y in [0, N): it reads the flat elements of V, and none
  /// of them is padding. nullopt where V misses an address of [0, N), or none was found.
  std::optional<ShapeTracker> tracker;
  /// V takes its valid points one to one onto [0, N); shown by `tracker`, or where there is none by
  /// looking at each of up to 2^22 elements.
  bool bijection = false;
};

/// A right inverse of a concrete tracker. Every result is proved before it is returned: V seen
/// through G is the identity. Stacks are inverted view by view, from the buffer outwards, after
/// simplify(), or with views read off anew; a map of up to 2^16 elements also as a table.
/// Throws ShapeError where `tracker` has variables.
Inverse invert(const ShapeTracker& tracker);

/// The view of shape `shape` that undoes one concrete view V: V(G(y)) = y for every flat index y of
/// the shape. nullopt where V does not read exactly the addresses [0, elements(shape)), or no one
/// view was found to say it. Throws ShapeError where there are variables or V reads below the
/// buffer.
std::optional<View> invert(const View& view, const Shape& shape);

}  // namespace touchstone
