#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/lazy/schedule.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::cli {

/// Kernels by the name of their model or program.
using KernelParts = std::vector<std::pair<std::string, std::vector<LazyOpPtr>>>;

/// A self-contained page with each kernel's AST, linear code and C. Lines of the same node are
/// highlighted together.
std::string kernels_html(const std::string& title, const KernelParts& parts);
/// Writes the page to a file and reports it, or to standard output for "-".
void write_kernels_page(const std::string& file, const std::string& title,
                        const KernelParts& parts);

/// A self-contained page: the picture of a schedule, and each kernel's AST and C. Throws as
/// svg_of_dot.
std::string schedule_html(std::span<const ScheduleItem> items, const std::string& title);

}  // namespace touchstone::cli
