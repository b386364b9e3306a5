#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace touchstone {

/// Makes external text safe for a terminal: one line of visible characters. Control characters,
/// line ends, direction marks and characters of no width become
/// , \t, \x1b or \u{202e}; bytes that are not UTF-8 become \xff. Text beyond `most` characters is
/// replaced with "...".
std::string visible(std::string_view text, std::size_t most = std::string_view::npos);

/// As visible(), for text of several lines, whose line ends are kept.
std::string visible_lines(std::string_view text);

}  // namespace touchstone
