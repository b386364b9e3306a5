#pragma once

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// An element address and the condition for reading it (1 if always).
struct IndexExpr {
  symbolic::Node index;
  symbolic::Node valid;
};

/// The index of each axis as a variable with bounds [0, size), or 0 if the size is at most one.
/// Named idx0, idx1, ...; if a variable of the tracker has such a name, idx_0, idx_1, ..., with as
/// many underscores as needed.
std::vector<symbolic::Node> axis_indices(const ShapeTracker& tracker);
/// The flat logical index: idx, or idx_, ...
symbolic::Node flat_index(const ShapeTracker& tracker);
/// The prefix of the names in axis_indices: "idx", or "idx_", ...
std::string index_prefix(const ShapeTracker& tracker);

/// Address and validity for one index expression per axis, axis_indices by default. Both are 0 if
/// no values of the variables leave an element to read. Throws ShapeError if the number of indices
/// is not the rank.
IndexExpr expr_idxs(const ShapeTracker& tracker, std::span<const symbolic::Node> indices);
IndexExpr expr_idxs(const ShapeTracker& tracker);
/// The address and the conditions for reading it, before expr_idxs joins them.
struct IndexConditions {
  symbolic::Node index;
  std::vector<symbolic::Node> conditions;
};
IndexConditions index_conditions(const ShapeTracker& tracker,
                                 std::span<const symbolic::Node> indices);
/// expr_idxs for one flat logical index, flat_index by default.
IndexExpr expr_node(const ShapeTracker& tracker, symbolic::Node flat);
IndexExpr expr_node(const ShapeTracker& tracker);

/// The rendered expression; if it has more than `most` parts, their number instead.
std::string bounded_text(symbolic::Node node, std::size_t most = 2000);

}  // namespace touchstone
