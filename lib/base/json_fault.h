#pragma once

#include <string>
#include <string_view>

namespace touchstone {

/// Rewords a JSON library's exception text: "line 1, column 7: the text ends; expected '}'", "it
/// has no member \"steps\"", "a member that must be a string is a number".
std::string json_fault(std::string_view what);

}  // namespace touchstone
