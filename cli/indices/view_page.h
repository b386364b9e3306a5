#pragma once

#include <string>
#include <vector>

#include "touchstone/cli/explore/view_story.h"

namespace touchstone::cli {

/// A self-contained page that draws the steps. With variable sizes it offers up to 24 of their
/// values.
std::string view_html(const std::vector<std::string>& words, const explore::ViewStory& story);

}  // namespace touchstone::cli
