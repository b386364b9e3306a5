#pragma once

#include <optional>

#include "touchstone/symbolic/ask/question.h"

namespace touchstone::symbolic {

/// A form as text, and its size.
struct Written {
  std::string text;
  std::size_t size = 0;
};

/// Whether some part is a truncating quotient or remainder.
bool truncates(const Tape& tape);

/// A form of the question's expression in which its truncating quotients and remainders stay: they
/// are canonical as choices between floor quotients, often larger than they are. Each is simplified
/// by itself, and the rest as if it were a variable with its bounds. nullopt where one of them may
/// divide by 0 while the whole has a value.
std::optional<Written> with_truncated_parts(const Question& question);

}  // namespace touchstone::symbolic
