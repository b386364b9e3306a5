#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "touchstone/define/definitions.h"

namespace touchstone::cli {

/// The signature of a definition, what it computes, and its forms, a line each, indented.
std::string definition_text(const define::Definition& definition);
nlohmann::ordered_json definition_json(const define::Definition& definition);

/// The names of all definitions, a line for each group.
std::string definition_names();

}  // namespace touchstone::cli
