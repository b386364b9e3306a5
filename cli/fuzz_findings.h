#pragma once

#include <span>
#include <string>

#include "touchstone/fuzz/engine/runner.h"
#include "verbs.h"

namespace touchstone::cli {

/// Prints a finding with the command that checks it again; of a kernel writes a folder with all
/// that belongs to it, of other long cases a file. What cannot be written is printed. `hurried`:
/// nothing is run for it, as where somebody waits for the end.
void show_finding(const FuzzOptions& o, const std::string& area, const fuzz::AreaFinding& f,
                  bool hurried);

/// The texts of findings that were not made smaller, in a file of the findings' folder, or where
/// that cannot be written on standard output.
void show_unshrunk(const FuzzOptions& o, const std::string& area,
                   std::span<const fuzz::AreaFinding> findings);

}  // namespace touchstone::cli
