#pragma once

#include <nlohmann/json_fwd.hpp>

#include "touchstone/maps/map.h"
#include "touchstone/symbolic/check/derivation_check.h"

namespace touchstone::maps {

/// Why two maps are equal: rewriting steps from the texts of both to one form, or from their
/// difference to 0, result by result.
struct Why {
  struct Part {
    std::string title;
    symbolic::Derivation derivation;
    std::optional<symbolic::Flaw> flaw;  // what the checker of steps objects to
  };
  std::vector<std::string> notes;  // how the inputs correspond, the domain, what no step shows
  std::vector<Part> parts;
};
/// Of maps that `same` found equal. Texts of more than 5,000 parts have a note instead of steps.
Why why_equal(const Map& a, const Map& b);

/// A line for each note, title, text and step.
std::vector<std::string> lines_of(const Why& why);
/// {"notes":[..],"parts":[{"title","start","result","steps":[..],"verdict","good"}]}
nlohmann::ordered_json json_of(const Why& why);

}  // namespace touchstone::maps
