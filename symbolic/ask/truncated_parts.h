#pragma once

#include <optional>

#include "touchstone/symbolic/ask/question.h"

namespace touchstone::symbolic {

/// A form as text, with its size.
struct Written {
  std::string text;
  std::size_t size = 0;
};

/// True if the tape has a truncating quotient or remainder.
bool truncates(const Tape& tape);

/// A form of the expression that keeps its truncating quotients and remainders; the canonical form
/// opens them into choices between floor quotients, which is often larger. Each is simplified
/// separately, and the rest treats it as a variable with its bounds. nullopt if one of them may
/// divide by 0 where the whole has a value.
std::optional<Written> with_truncated_parts(const Question& question);

}  // namespace touchstone::symbolic
