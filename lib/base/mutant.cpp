#include "touchstone/base/mutant.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "touchstone/base/error.h"
#include "touchstone/base/mutant_history.h"
#include "touchstone/base/suggest.h"

namespace touchstone {

#ifdef TOUCHSTONE_MUTANTS
namespace {

struct Row {
  Mutant mutant;
  std::uint32_t number;
  bool history;
};

constexpr Row table[] = {
#include "mutant_table.inc"  // beside the woven copy of this file
};

[[maybe_unused]] const bool from_environment = [] {
  const char* name = std::getenv("TOUCHSTONE_MUTANT");
  if (name == nullptr || *name == '\0') return false;
  try {
    select_mutant(name);
  } catch (const ParseError& error) {
    fmt::print(stderr, "TOUCHSTONE_MUTANT: {}\n", error.what());
    std::exit(2);
  }
  return true;
}();

}  // namespace

std::vector<Mutant> mutants() {
  std::vector<Mutant> all;
  for (const Row& row : table) all.push_back(row.mutant);
  return all;
}

void select_mutant(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Row& row : table) {
    if (row.mutant.name == name) {
      mutant_selected = row.number;
      return;
    }
    names.push_back(row.mutant.name);
  }
  throw ParseError(fmt::format("there is no mutant '{}'{}; touchstone mutants --list prints them",
                               name, did_you_mean(name, names)));
}

bool mutant_reached() { return std::exchange(mutant_was_reached, false); }

bool mutant_from_history(std::string_view name) {
  return std::ranges::any_of(
      table, [&](const Row& row) { return row.mutant.name == name && row.history; });
}

#else

std::vector<Mutant> mutants() { return {}; }

void select_mutant(std::string_view name) {
  throw ParseError(fmt::format(
      "no mutant '{}': this build contains none; the preset mutants does (./dev build mutants)",
      name));
}

bool mutant_reached() { return false; }

bool mutant_from_history(std::string_view) { return false; }

#endif

}  // namespace touchstone
