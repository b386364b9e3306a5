#pragma once

#include <span>

#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/view/shapetracker.h"
#include "touchstone/symbolic/expr/expr.h"

namespace touchstone::shapetracker {

/// Address and validity as the definition of a view writes them down, nothing simplified but terms
/// that are 0 and factors that are 1: what ShapeTracker::expr_idxs begins with.
struct PlainIndex {
  symbolic::Exprs exprs;
  symbolic::Expr index = 0;
  symbolic::Expr valid = 0;
  std::vector<std::string> indices{};  // names of the axes
};

/// views: innermost first, at least one. Indices are called as axis_indices calls them; between
/// views the flat index k is taken apart as k // weight % size for each axis, without the // where
/// the weight is 1 and without the % on the first.
PlainIndex plain_index(std::span<const View> views);
/// The same with names of the axes that begin so.
PlainIndex plain_index(std::span<const View> views, const std::string& prefix);
/// The text of a tree for a person; of one with more than `most` parts their number.
std::string bounded_text(const symbolic::Exprs& exprs, symbolic::Expr root,
                         std::size_t most = 2000);

/// Cost of address and validity as straight-line code, shared parts of each once.
struct IndexCost {
  std::int64_t divisions = 0;
  std::int64_t modulos = 0;
  std::int64_t steps = 0;  // operators, variables and constants

  IndexCost& operator+=(const IndexCost& other);
  bool operator==(const IndexCost&) const = default;
};
IndexCost cost(const PlainIndex& plain);
IndexCost cost(const IndexExpr& expr);

}  // namespace touchstone::shapetracker
