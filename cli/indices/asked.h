#pragma once

#include <string>
#include <vector>

#include "touchstone/symbolic/notation/notation.h"

namespace touchstone::cli {

/// The question of a verb's words: --var a=0..10 and --assume. `from` is the language of the text;
/// if empty, a text that can be in one language only is read in it. Prints what the translation
/// takes for granted. Throws ParseError.
symbolic::Translation asked_as_text(const std::string& expression, const std::string& from,
                                    const std::vector<std::string>& variables,
                                    const std::vector<std::string>& assumptions);

}  // namespace touchstone::cli
