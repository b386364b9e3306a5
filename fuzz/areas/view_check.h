#pragma once

#include <string>

#include "touchstone/fuzz/areas/areas.h"

namespace touchstone::fuzz {

/// The relations of the area `view` (areas.h). Throws ParseError if the text is no case.
Checked check_views(const std::string& text, Effort effort);

}  // namespace touchstone::fuzz
