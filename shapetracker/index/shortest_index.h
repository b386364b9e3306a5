#pragma once

#include "touchstone/shapetracker/index/plain_index.h"

namespace touchstone::shapetracker {

/// True if `a` costs less: fewer divisions and modulos in total, or as many and fewer parts.
bool cheaper(const IndexCost& a, const IndexCost& b);

/// expr_idxs in the cheapest form found. The address is the same wherever the condition holds and
/// may rely on it; conditions on one index may become a range or a residue. Slower than expr_idxs.
IndexExpr shortest_idxs(const ShapeTracker& tracker, std::span<const symbolic::Node> indices);

/// The cheapest expression found for `tracker`: shortest_idxs, or the plain index of its views or
/// of `composed`, an equivalent stack.
PlainIndex cheapest_index(const ShapeTracker& tracker, std::span<const View> composed);

}  // namespace touchstone::shapetracker
