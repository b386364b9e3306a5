#pragma once

#include <span>
#include <string>

#include "touchstone/symbolic/check/derivation.h"

namespace touchstone::symbolic {

/// Simplifies a text and writes down every step, from the text as given to the text `render` gives,
/// or none where that is longer.
/// variables: each name of the text and the assumptions, once. Every step but those of the rule
/// kUnexplained passes the checker (derivation_check.h).
/// Throws ParseError as `parse` does, Error where the expression has more than 5,000 parts.
Derivation derive(const std::string& text, std::span<const Derivation::Variable> variables,
                  std::span<const std::string> assumptions = {});

/// Steps that could not be explained.
std::size_t unexplained(const Chain& chain);

}  // namespace touchstone::symbolic
