#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "touchstone/symbolic/check/derivation.h"
#include "touchstone/symbolic/check/derivation_check.h"

namespace touchstone::symbolic {

/// A rewrite step as text, for all output formats.
struct StepWords {
  MarkedText before, after;  // the whole, with the changed part marked
  std::string rule;          // its name; empty for arithmetic
  std::string title;         // the step in words
  std::string from, to;      // the law's instance; empty for arithmetic
  std::string when;          // the rule's condition; empty if none
  std::vector<std::pair<std::string, std::string>> bindings;
  std::vector<std::string> facts;  // two-sided bounds joined: `0 <= b <= 3`
  bool explained = true;
};
std::vector<StepWords> words_of(const Derivation& d, const Chain& chain);
/// A step for pages: its members as above, `before` and `after` as [left, changed, right], `law`
/// [from, to].
nlohmann::ordered_json json_of(const StepWords& step);
/// {"start","result","steps":[..]}.
nlohmann::ordered_json json_of(const Derivation& d, const Chain& chain);

/// "x in [0, 9]" for each variable.
std::vector<std::string> bounds_words(const Derivation& d);

/// The derivation as an align* environment of LaTeX; needs amsmath.
std::string derivation_latex(const Derivation& d);

/// The checker's verdict on the derivation.
std::string derivation_verdict(const Derivation& d, const std::optional<Flaw>& flaw);

}  // namespace touchstone::symbolic
