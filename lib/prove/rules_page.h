#pragma once

#include <string>

#include "touchstone/symbolic/rules/rules.h"

namespace touchstone::prove {

/// The Markdown page of all rules with their conditions, generated from the table.
std::string rules_page();

/// "(4*x + y)//12 is x//3 for y=0..3"; empty if the rule has no example.
std::string example_of(const symbolic::Rule& rule);

}  // namespace touchstone::prove
