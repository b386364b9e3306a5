#pragma once

#include <string>
#include <vector>

#include "touchstone/cli/explore/view_story.h"
#include "touchstone/cli/indices/value_plot.h"

namespace touchstone::cli {

/// Each step of a story as text, drawn as on its page: the logical grid of every view, outermost
/// first, with the address that each index reads in the view below, and the memory with the
/// elements read. Masked indices read nothing; points that show why two views cannot merge are in
/// brackets. Large shapes show the first rows and columns. Symbolic sizes have their first values.
std::vector<std::string> view_drawings(const explore::ViewStory& story, const PlotStyle& style);

}  // namespace touchstone::cli
