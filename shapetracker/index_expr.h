#pragma once

#include "touchstone/view/shapetracker.h"

namespace touchstone {

/// An element address and the condition under which it may be read (1 where always).
struct IndexExpr {
  symbolic::Node index;
  symbolic::Node valid;
};

/// Address and validity for one index expression per axis; the default are variables idx0, idx1,
/// ... with bounds [0, size). Throws ShapeError where there are not as many indices as axes.
IndexExpr expr_idxs(const ShapeTracker& tracker, std::span<const symbolic::Node> indices);
IndexExpr expr_idxs(const ShapeTracker& tracker);
/// The same for one flat logical index (variable "idx" by default).
IndexExpr expr_node(const ShapeTracker& tracker, symbolic::Node flat);
IndexExpr expr_node(const ShapeTracker& tracker);

}  // namespace touchstone
