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

/// For a terminal; colours as terminal.h decides.
std::string derivation_text(const symbolic::Derivation& d,
                            const std::optional<symbolic::Flaw>& flaw);
/// One object; what `derivation_of_json` reads.
std::string derivation_json(const symbolic::Derivation& d);
/// A page that needs nothing else. Throws as StepReport::html.
std::string derivation_html(const symbolic::Derivation& d,
                            const std::optional<symbolic::Flaw>& flaw);
/// An align* environment; needs amsmath.
std::string derivation_latex(const symbolic::Derivation& d);

/// The same on one line, without its end.
std::string certificate_line(const symbolic::Derivation& d);

/// The object that a text holds. Throws ParseError where it holds no object, or one with two
/// members of one name, which readers take in different ways.
nlohmann::ordered_json certificate_json(std::string_view text);
/// Throws ParseError where the text is no derivation; whether it is a right one find_flaw tells.
symbolic::Derivation derivation_of_json(const std::string& text);
symbolic::Derivation derivation_of_json(const nlohmann::ordered_json& json);

}  // namespace touchstone::cli
