#pragma once

#include <optional>
#include <string>

#include "touchstone/symbolic/certificate/certificate_json.h"
#include "touchstone/symbolic/certificate/step_words.h"

namespace touchstone::cli {

using symbolic::bounds_words;
using symbolic::certificate_line;
using symbolic::derivation_json;
using symbolic::derivation_latex;
using symbolic::derivation_of_json;
using symbolic::derivation_verdict;
using symbolic::StepWords;
using symbolic::words_of;

/// For a terminal, with colours as terminal.h decides.
std::string derivation_text(const symbolic::Derivation& d,
                            const std::optional<symbolic::Flaw>& flaw);
/// A self-contained page. Throws as StepReport::html.
std::string derivation_html(const symbolic::Derivation& d,
                            const std::optional<symbolic::Flaw>& flaw);

}  // namespace touchstone::cli
