#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace touchstone {

/// Text from outside as a terminal may be given it: one line on which every character is one that
/// shows. What moves the cursor, changes colours, ends a line, turns the direction of writing or
/// takes no space becomes \n, \t, \x1b or \u{202e}; so do bytes that are no UTF-8, as \xff. Behind
/// `most` characters it is cut, which "..." says.
std::string visible(std::string_view text, std::size_t most = std::string_view::npos);

/// The same of a text of several lines, whose ends stay.
std::string visible_lines(std::string_view text);

}  // namespace touchstone
