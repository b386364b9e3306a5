#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/symbolic/check/derivation.h"
#include "touchstone/symbolic/check/derivation_check.h"

namespace touchstone::explore {

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

}  // namespace touchstone::explore
