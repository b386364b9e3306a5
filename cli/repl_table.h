#pragma once

#include <string>

#include "touchstone/symbolic/question.h"

namespace touchstone::cli {

/// The values of an expression: a column for one variable, a grid for two, a list of points for
/// more; the first points of each variable where there are many. "-" where it divides by zero, a
/// blank where an assumption does not hold. Throws ParseError as symbolic::answer does.
std::string value_table(const symbolic::Question& question, symbolic::Context& scratch);

}  // namespace touchstone::cli
