#pragma once

#include <span>
#include <string>

#include "touchstone/lazy/schedule.h"

namespace touchstone::cli {

/// A self-contained page: the picture of a schedule, and each kernel's AST and C. Throws as
/// svg_of_dot.
std::string schedule_html(std::span<const ScheduleItem> items, const std::string& title);

}  // namespace touchstone::cli
