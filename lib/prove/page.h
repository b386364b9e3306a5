#pragma once

#include <string>

namespace touchstone::prove {

/// The page of all rules, in Markdown: each with its law, condition and example; then the laws of
/// bounds. Made from the tables alone.
std::string rules_page();

}  // namespace touchstone::prove
