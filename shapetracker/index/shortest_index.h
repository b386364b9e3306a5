#pragma once

#include "touchstone/shapetracker/index/plain_index.h"

namespace touchstone::shapetracker {

/// Whether `a` costs less: fewer divisions and modulos together, or as many and fewer parts.
bool cheaper(const IndexCost& a, const IndexCost& b);

/// expr_idxs in the cheapest form found: where the condition holds the address is the same, and may
/// be written with what the condition says; conditions on one index may become a range or a residue
/// of it. Takes longer than expr_idxs.
IndexExpr shortest_idxs(const ShapeTracker& tracker, std::span<const symbolic::Node> indices);

/// The cheapest way found to write down what `tracker` reads: shortest_idxs, or the views of the
/// tracker as they are, or those of `composed`, a stack that says the same.
PlainIndex cheapest_index(const ShapeTracker& tracker, std::span<const View> composed);

}  // namespace touchstone::shapetracker
