#pragma once

#include "touchstone/shapetracker/shapetracker.h"

namespace touchstone {

/// A tracker with variables and the values they have at the moment: one kernel serves all values
/// and is launched with these. Nodes hold no values, so the two stay apart. Immutable.
class BoundTracker {
 public:
  /// Throws ShapeError where a variable of the tracker has no value or one outside its bounds;
  /// other names in `values` are left out.
  BoundTracker(ShapeTracker tracker, const symbolic::Values& values)
      : tracker_(std::move(tracker)), var_vals_(tracker_.var_vals(values)) {}

  const symbolic::Values& var_vals() const { return var_vals_; }
  /// The tracker with its variables and, apart from it, their values.
  std::pair<ShapeTracker, symbolic::Values> unbind() const { return {tracker_, var_vals_}; }
  /// The tracker with the values in place of the variables.
  ShapeTracker bind() const { return tracker_.bind(var_vals_); }

  bool operator==(const BoundTracker&) const = default;

 private:
  ShapeTracker tracker_;
  symbolic::Values var_vals_;
};

}  // namespace touchstone
