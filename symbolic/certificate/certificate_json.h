#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "touchstone/symbolic/check/derivation.h"

namespace touchstone::symbolic {

/// One JSON object on several lines, as `derivation_of_json` reads.
std::string derivation_json(const Derivation& d);
/// The same on one line, without a line end.
std::string certificate_line(const Derivation& d);

/// The object in a text. Throws ParseError if it holds no object, or one with duplicate member
/// names, which parsers read differently.
nlohmann::ordered_json certificate_json(std::string_view text);
/// Throws ParseError if the text is no derivation; find_flaw checks whether it is correct.
Derivation derivation_of_json(const std::string& text);
Derivation derivation_of_json(const nlohmann::ordered_json& json);

}  // namespace touchstone::symbolic
