#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "touchstone/cli/explore/step_words.h"
#include "touchstone/symbolic/check/derivation.h"
#include "touchstone/symbolic/check/derivation_check.h"

namespace touchstone::cli {

using explore::bounds_words;
using explore::StepWords;
using explore::verdict;
using explore::words_of;

/// For a terminal, with colours as terminal.h decides.
std::string derivation_text(const symbolic::Derivation& d,
                            const std::optional<symbolic::Flaw>& flaw);
/// One JSON object, as `derivation_of_json` reads.
std::string derivation_json(const symbolic::Derivation& d);
/// A self-contained page. Throws as StepReport::html.
std::string derivation_html(const symbolic::Derivation& d,
                            const std::optional<symbolic::Flaw>& flaw);
/// An align* environment; needs amsmath.
std::string derivation_latex(const symbolic::Derivation& d);

/// The JSON on one line, without a line end.
std::string certificate_line(const symbolic::Derivation& d);

/// The object in a text. Throws ParseError if it holds no object, or one with duplicate member
/// names, which parsers read differently.
nlohmann::ordered_json certificate_json(std::string_view text);
/// Throws ParseError if the text is no derivation; find_flaw checks whether it is correct.
symbolic::Derivation derivation_of_json(const std::string& text);
symbolic::Derivation derivation_of_json(const nlohmann::ordered_json& json);

}  // namespace touchstone::cli
