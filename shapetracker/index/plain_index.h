#pragma once

#include <span>

#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/view/shapetracker.h"
#include "touchstone/symbolic/expr/expr.h"

namespace touchstone::shapetracker {

/// Address and validity by the definition of a view, simplified only by dropping terms 0 and
/// factors 1: the starting point of ShapeTracker::expr_idxs.
struct PlainIndex {
  symbolic::Exprs exprs;
  symbolic::Expr index = 0;
  symbolic::Expr valid = 0;
  std::vector<std::string> indices{};  // names of the axes
};

/// views: innermost first, at least one. Indices are named as in axis_indices; between views the
/// flat index k becomes k // weight % size for each axis, without the // for weight 1 and without
/// the % on the first axis.
PlainIndex plain_index(std::span<const View> views);
/// The same with the given prefix of axis names.
PlainIndex plain_index(std::span<const View> views, const std::string& prefix);
/// The rendered tree; if it has more than `most` parts, their number instead.
std::string bounded_text(const symbolic::Exprs& exprs, symbolic::Expr root,
                         std::size_t most = 2000);

/// Cost of address and validity as straight-line code, shared parts of each counted once.
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
