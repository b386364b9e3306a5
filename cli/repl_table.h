#pragma once

#include <string>

#include "touchstone/symbolic/ask/question.h"
#include "value_plot.h"

namespace touchstone::cli {

/// The values of an expression: a column for one variable, a grid for two, a list of points for
/// more; the first points of each variable where there are many. "-" where it divides by zero, a
/// blank where an assumption does not hold. Throws ParseError as symbolic::answer does.
std::string value_table(const symbolic::Question& question, symbolic::Context& scratch);

/// The same as a picture of text: a bar for each value of one variable, a shade for each pair of
/// two. Throws ParseError also for more variables, or none.
std::string value_plot(const symbolic::Question& question, symbolic::Context& scratch,
                       const PlotStyle& style);

}  // namespace touchstone::cli
