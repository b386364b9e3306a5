#pragma once

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// An element address and the condition under which it may be read (1 where always).
struct IndexExpr {
  symbolic::Node index;
  symbolic::Node valid;
};

/// The symbol for the index of each axis: a variable with bounds [0, size), or 0 where the size is
/// at most one. They are called idx0, idx1, ...; where a variable of the tracker has such a name,
/// idx_0, idx_1, ..., with as many lines as keep the two apart.
std::vector<symbolic::Node> axis_indices(const ShapeTracker& tracker);
/// The same for the flat logical index: idx, or idx_, ...
symbolic::Node flat_index(const ShapeTracker& tracker);
/// The prefix of the names of axis_indices: "idx", or "idx_", ...
std::string index_prefix(const ShapeTracker& tracker);

/// Address and validity for one index expression per axis; the default are axis_indices. Where no
/// values of the variables leave an element to read, both are 0. Throws ShapeError where there are
/// not as many indices as axes.
IndexExpr expr_idxs(const ShapeTracker& tracker, std::span<const symbolic::Node> indices);
IndexExpr expr_idxs(const ShapeTracker& tracker);
/// The address, and the conditions that all hold where it may be read: expr_idxs before they are
/// joined.
struct IndexConditions {
  symbolic::Node index;
  std::vector<symbolic::Node> conditions;
};
IndexConditions index_conditions(const ShapeTracker& tracker,
                                 std::span<const symbolic::Node> indices);
/// expr_idxs for one flat logical index, flat_index by default.
IndexExpr expr_node(const ShapeTracker& tracker, symbolic::Node flat);
IndexExpr expr_node(const ShapeTracker& tracker);

/// The text of an expression for a person; of one with more than `most` parts their number.
std::string bounded_text(symbolic::Node node, std::size_t most = 2000);

}  // namespace touchstone
