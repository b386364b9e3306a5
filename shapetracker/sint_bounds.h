#pragma once

#include "touchstone/shapetracker/view.h"

namespace touchstone::shapetracker {

/// The smaller and the larger of two; an expression only where the bounds do not decide.
sint smaller(const sint& a, const sint& b);
sint larger(const sint& a, const sint& b);

/// True where a < b (a <= b) holds, false where it fails for every value of the variables.
/// Throws ShapeError, its text beginning with `what`, where the bounds decide neither.
bool decide_lt(const sint& a, const sint& b, const std::string& what);
bool decide_le(const sint& a, const sint& b, const std::string& what);

/// `value` with its variables replaced by numbers where `values` has them.
sint bind(const sint& value, const symbolic::Values& values);

std::string str(const Mask& mask);  // "((0, 2), (1, 3))"

}  // namespace touchstone::shapetracker
