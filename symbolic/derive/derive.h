#pragma once

#include <span>
#include <string>

#include "touchstone/symbolic/check/derivation.h"

namespace touchstone::symbolic {

/// Simplifies a text and records every step, from the text as given to the text that `render`
/// returns; no steps if that is longer.
/// variables: each name in the text and the assumptions, once. All steps except kUnexplained pass
/// the checker (derivation_check.h).
/// Throws ParseError like `parse`, Error if the expression has more than 5,000 parts.
Derivation derive(const std::string& text, std::span<const Derivation::Variable> variables,
                  std::span<const std::string> assumptions = {});

/// Number of unexplained steps.
std::size_t unexplained(const Chain& chain);

}  // namespace touchstone::symbolic
