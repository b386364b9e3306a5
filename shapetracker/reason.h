#pragma once

#include <span>
#include <string>

#include "touchstone/shapetracker/explain.h"

namespace touchstone::shapetracker {

/// Why a stack is one view or none, in a sentence for a person; a refusal gives its witness in
/// plain numbers. explanation: of these views.
std::string reason(std::span<const View> views, const Explanation& explanation);

}  // namespace touchstone::shapetracker
