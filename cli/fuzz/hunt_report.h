#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "touchstone/base/mutant.h"
#include "touchstone/fuzz/engine/hunt.h"

// Hunts for mutants as Markdown and as JSON.

namespace touchstone::cli {

struct Hunt {
  Mutant mutant;  // without a name: no mutant is active, and nothing must be found
  std::uint64_t seed = 0;
  fuzz::Hunted result;
};

/// The head of the table of hunts.
std::string hunt_table_head();
/// The hunts of one mutant, one per seed, as a row: medians, with the worst in brackets.
std::string hunt_row(std::span<const Hunt> hunts);
/// A table of how many hunts met each goal, and a line for each that missed its mutant.
std::string hunt_summary(std::span<const Hunt> hunts);

/// Everything known about a hunt, as a JSON line.
std::string hunt_json(const Hunt& hunt);
/// {"hunts":[..],"summary":[..]}, both tables, as a line.
std::string hunts_json(std::span<const Hunt> hunts);
/// {"mutant","table","where","description"}, as a line.
std::string mutant_json(const Mutant& mutant);

}  // namespace touchstone::cli
