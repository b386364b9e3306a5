#pragma once

#include <string>
#include <vector>

#include "touchstone/symbolic/notation/notation.h"

namespace touchstone::cli {

/// The question of a verb's words: --var a=0..10 and --assume. `from` is the language of the text;
/// if it is empty, the text's own signs decide. Prints the translation's notes. Throws ParseError.
symbolic::Translation asked_as_text(const std::string& expression, const std::string& from,
                                    const std::vector<std::string>& variables,
                                    const std::vector<std::string>& assumptions);

}  // namespace touchstone::cli
