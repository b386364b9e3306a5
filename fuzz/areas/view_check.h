#pragma once

#include <string>

#include "touchstone/fuzz/engine/area.h"
#include "touchstone/fuzz/index/view_case.h"

namespace touchstone::fuzz {

/// The relations of the area `view` (areas.h) of a case and its text.
Checked check_views(const ViewCase& c, const std::string& text, Effort effort);

}  // namespace touchstone::fuzz
