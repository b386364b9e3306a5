#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "touchstone/base/mutant.h"
#include "touchstone/fuzz/engine/hunt.h"

// Hunts for mutants as Markdown and as JSON.

namespace touchstone::cli {

struct Hunt {
  Mutant mutant;  // nameless: none is on, and nothing must be found
  std::uint64_t seed = 0;
  fuzz::Hunted result;
};

/// The head of the table of hunts.
std::string hunt_table_head();
/// The hunts of one mutant, one a seed, as a row: medians, and the worst in brackets.
std::string hunt_row(std::span<const Hunt> hunts);
/// The table of how many hunts came to what they should, and a line for each that did not find its
/// mutant.
std::string hunt_summary(std::span<const Hunt> hunts);

/// All that is known of a hunt, as a line.
std::string hunt_json(const Hunt& hunt);
/// {"hunts":[..],"summary":[..]}, both tables, as a line.
std::string hunts_json(std::span<const Hunt> hunts);
/// {"mutant","table","where","description"}, as a line.
std::string mutant_json(const Mutant& mutant);

}  // namespace touchstone::cli
