#pragma once

#include <string>
#include <vector>

#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/engine/last_parsed.h"
#include "touchstone/fuzz/index/expression_case.h"
#include "touchstone/fuzz/index/point_values.h"
#include "touchstone/symbolic/node/context.h"

namespace touchstone::fuzz {

/// Storage reused across the checks of many expressions; it carries no state beyond the trees last
/// read.
struct ExpressionMemory {
  symbolic::Context context;
  LastParsed<ExpressionCase> trees;
  PointValues values, shifted;
  Column right;                      // the expression as written
  std::vector<unsigned char> holds;  // where all assumptions hold
};

/// The relations of the area `symbolic` (areas.h). Throws ParseError if the text is no case.
Checked check_expression(const std::string& text, Effort effort, ExpressionMemory& memory,
                         const Refute& refute);

}  // namespace touchstone::fuzz
