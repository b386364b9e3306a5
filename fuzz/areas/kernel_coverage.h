#pragma once

#include <span>
#include <vector>

#include "touchstone/fuzz/engine/area.h"
#include "touchstone/fuzz/judge/kernel_case.h"

namespace touchstone::fuzz {

/// The coverage report of area `kernel` (Area::dimensions, feasible, coverage).
std::vector<Dimension> kernel_dimensions();
bool kernel_row_is_feasible(std::span<const int> row);
std::vector<CoverageRow> kernel_rows(const KernelCase& c, Ending ending);

}  // namespace touchstone::fuzz
