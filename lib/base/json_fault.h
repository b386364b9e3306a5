#pragma once

#include <string>
#include <string_view>

namespace touchstone {

/// The text of a JSON library's exception in our words: "line 1, column 7: the text ends; expected
/// '}'", "it has no member \"steps\"", "a member that must be a string is a number".
std::string json_fault(std::string_view what);

/// Throws ParseError where JSON nests deeper than any file of ours, or has more values: what
/// handles parsed JSON recurses, and keeps tens of times the bytes of the text.
void require_shallow_json(std::string_view text);

}  // namespace touchstone
