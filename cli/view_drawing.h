#pragma once

#include <string>
#include <vector>

#include "touchstone/cli/explore/view_story.h"
#include "value_plot.h"

namespace touchstone::cli {

/// Each step of a story in text, as its page draws it: the logical grid of every view, outermost
/// first, with the address that each index reads in the one below, and the memory with what is read
/// of it. What is masked out reads nothing; points that show why two views are no single one stand
/// in brackets. Of large shapes the first rows and columns. Symbolic sizes have their first values.
std::vector<std::string> view_drawings(const explore::ViewStory& story, const PlotStyle& style);

}  // namespace touchstone::cli
