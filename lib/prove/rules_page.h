#pragma once

#include <string>

#include "touchstone/symbolic/rules/rules.h"

namespace touchstone::prove {

/// The page of all rules, in Markdown: each with its law and condition. Made from the table alone.
std::string rules_page();

/// "(4*x + y)//12 is x//3 for y=0..3"; empty where the rule has no example.
std::string example_of(const symbolic::Rule& rule);

}  // namespace touchstone::prove
