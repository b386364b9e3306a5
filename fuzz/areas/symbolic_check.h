#pragma once

#include <string>
#include <vector>

#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/index/point_values.h"
#include "touchstone/symbolic/node/context.h"

namespace touchstone::fuzz {

/// Storage that the checks of one expression after the other share, for its memory alone.
struct ExpressionMemory {
  symbolic::Context context;
  PointValues values, shifted;
  Column right;                      // of the expression as written
  std::vector<unsigned char> holds;  // where all assumptions do
};

/// The relations of the area `symbolic` (areas.h). Throws ParseError where the text is no case.
Checked check_expression(const std::string& text, Effort effort, ExpressionMemory& memory,
                         const Refute& refute);

}  // namespace touchstone::fuzz
