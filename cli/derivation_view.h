#pragma once

#include <optional>
#include <string>
#include <vector>

#include "touchstone/symbolic/derivation.h"
#include "touchstone/symbolic/derivation_check.h"

namespace touchstone::cli {

/// A rewriting in words, for all forms of output.
struct StepWords {
  symbolic::MarkedText before, after;  // the whole, the changed part marked
  std::string rule;                    // its name; empty for arithmetic
  std::string title;                   // the step in words
  std::string from, to;                // the law as it was used; empty for arithmetic
  std::string when;                    // the rule's condition; empty where it has none
  std::vector<std::pair<std::string, std::string>> bindings;
  std::vector<std::string> facts;  // `0 <= b <= 3` in one
  bool explained = true;
};
std::vector<StepWords> words_of(const symbolic::Derivation& d, const symbolic::Chain& chain);

/// "x in [0, 9]" of each variable.
std::vector<std::string> bounds_words(const symbolic::Derivation& d);

/// The checker's verdict on the derivation.
std::string verdict(const symbolic::Derivation& d, const std::optional<symbolic::Flaw>& flaw);

/// For a terminal; colours as terminal.h decides.
std::string derivation_text(const symbolic::Derivation& d,
                            const std::optional<symbolic::Flaw>& flaw);
/// One object; what `derivation_of_json` reads.
std::string derivation_json(const symbolic::Derivation& d);
/// A page that needs nothing else.
std::string derivation_html(const symbolic::Derivation& d,
                            const std::optional<symbolic::Flaw>& flaw);
/// An align* environment; needs amsmath.
std::string derivation_latex(const symbolic::Derivation& d);

/// Throws ParseError where the text is no derivation; whether it is a right one find_flaw tells.
symbolic::Derivation derivation_of_json(const std::string& text);

}  // namespace touchstone::cli
