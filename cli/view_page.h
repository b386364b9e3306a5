#pragma once

#include <string>
#include <vector>

#include "touchstone/cli/explore/view_story.h"

namespace touchstone::cli {

/// A page that draws the steps: one file, no network. Where sizes have variables, with up to 24 of
/// their values, to choose from.
std::string view_html(const std::vector<std::string>& words, const explore::ViewStory& story);

}  // namespace touchstone::cli
