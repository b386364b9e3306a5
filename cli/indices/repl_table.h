#pragma once

#include <string>

#include "touchstone/cli/indices/value_plot.h"
#include "touchstone/symbolic/ask/question.h"

namespace touchstone::cli {

/// The values of an expression: a column for one variable, a grid for two, a list of points for
/// more; only the first points if there are many. "-" marks a division by zero, a blank a violated
/// assumption. Throws ParseError as symbolic::answer does.
std::string value_table(const symbolic::Question& question, symbolic::Context& scratch);

/// The same as a text picture: a bar per value of one variable, a shade per pair of two. Also
/// throws ParseError for none or more variables.
std::string value_plot(const symbolic::Question& question, symbolic::Context& scratch,
                       const PlotStyle& style);

}  // namespace touchstone::cli
