#pragma once

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// One movement operation with its argument.
struct MovementOp {
  enum class Kind : std::uint8_t { Reshape, Permute, Expand, Pad, Shrink, Stride, AsStrided };
  Kind kind;
  Shape shape{};                              // Reshape, Expand, AsStrided: of the result
  std::vector<int> order{};                   // Permute
  std::vector<std::pair<sint, sint>> ends{};  // Pad: before, after. Shrink: begin, end
  std::vector<std::int64_t> steps{};          // Stride
  Strides strides{};                          // AsStrided
  sint offset = 0;                            // AsStrided

  std::string str() const;  // "pad ((0, 1), (2, 0))"
  bool operator==(const MovementOp&) const = default;
};

/// The tracker after the operation. Throws ShapeError as the method of that name does.
ShapeTracker apply(const ShapeTracker& tracker, const MovementOp& op);

/// Operations that make `tracker` of a flat buffer of `elements` elements: applied in order to
/// ShapeTracker::contiguous({elements}) they give a tracker that reads the same address, or
/// padding, at every index. Any view of a concrete tracker is made without AsStrided, unless a
/// shape on the way would hold more elements than 64 bits can count: overlapping strides are rows
/// of a repeated axis, as tinygrad makes windows. With variables AsStrided stands in where bounds
/// do not order the strides, and every operation was tried on the shape it is for, so `apply` takes
/// it. Throws ShapeError where the tracker may read beyond the buffer, and where no operations are
/// found that bounds show to be right for all values of the variables.
std::vector<MovementOp> to_movement_ops(const ShapeTracker& tracker, const sint& elements);
/// The same for a buffer of tracker.real_size() elements.
std::vector<MovementOp> to_movement_ops(const ShapeTracker& tracker);

}  // namespace touchstone
