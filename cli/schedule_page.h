#pragma once

#include <span>
#include <string>

#include "touchstone/lazy/schedule.h"

namespace touchstone::cli {

/// A page that needs nothing else: the picture of a schedule, and of each kernel its AST and C.
/// Throws as svg_of_dot.
std::string schedule_html(std::span<const ScheduleItem> items, const std::string& title);

}  // namespace touchstone::cli
