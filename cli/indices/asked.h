#pragma once

#include <string>
#include <vector>

#include "touchstone/maps/index_checks.h"
#include "touchstone/symbolic/access/access.h"
#include "touchstone/symbolic/notation/notation.h"

namespace touchstone::cli {

struct CheckIndexOptions : maps::IndexChecks {
  std::string expression, from;
  std::vector<std::string> variables;
};

/// A question without a text: --var a=0..10 and --assume. Throws ParseError.
symbolic::Question asked_variables(const std::vector<std::string>& variables,
                                   const std::vector<std::string>& assumptions);

/// The question of a verb's words: --var a=0..10 and --assume. `from` is the language of the text;
/// if it is empty, the text's own signs decide. Prints the translation's notes. Throws ParseError.
symbolic::Translation asked_as_text(const std::string& expression, const std::string& from,
                                    const std::vector<std::string>& variables,
                                    const std::vector<std::string>& assumptions);

/// The exit code and the coloured word of yes, no or unknown.
int exit_code(symbolic::Finding::Verdict verdict);
std::string word(symbolic::Finding::Verdict verdict);

}  // namespace touchstone::cli
