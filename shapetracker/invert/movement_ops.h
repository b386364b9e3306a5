#pragma once

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// One movement operation with its argument.
struct MovementOp {
  enum class Kind : std::uint8_t { Reshape, Permute, Expand, Pad, Shrink, Stride, AsStrided };
  Kind kind;
  Shape shape{};                              // Reshape, Expand, AsStrided: result
  std::vector<int> order{};                   // Permute
  std::vector<std::pair<sint, sint>> ends{};  // Pad: before, after. Shrink: begin, end
  std::vector<std::int64_t> steps{};          // Stride
  Strides strides{};                          // AsStrided
  sint offset = 0;                            // AsStrided

  std::string str() const;  // "pad ((0, 1), (2, 0))"
  bool operator==(const MovementOp&) const = default;
};

/// The tracker after the operation. Throws ShapeError like the method of that name.
ShapeTracker apply(const ShapeTracker& tracker, const MovementOp& op);

/// Operations that build `tracker` on a flat buffer of `elements` elements: applied in order to
/// ShapeTracker::contiguous({elements}), they give the same address or padding at every index.
/// Concrete trackers need no AsStrided unless an intermediate shape exceeds 64 bits: overlapping
/// strides become rows of a repeated axis, as in tinygrad's windows. With variables, AsStrided is
/// used if bounds do not order the strides. Every operation was tried on its shape, so `apply`
/// accepts it. Throws ShapeError if the tracker may read beyond the buffer, or if no operations are
/// proved correct for all values of the variables.
std::vector<MovementOp> to_movement_ops(const ShapeTracker& tracker, const sint& elements);
/// The same for a buffer of tracker.real_size() elements.
std::vector<MovementOp> to_movement_ops(const ShapeTracker& tracker);

}  // namespace touchstone
