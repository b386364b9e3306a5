#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Shared by the verbs that write pages.

namespace touchstone::cli {

/// A page of data/ with `json` in place of `mark`, escaped so that it cannot end the script.
std::string page_with(const unsigned char* page, std::size_t size, std::string_view mark,
                      std::string_view json);

/// Draws a Graphviz graph as an SVG element without a prolog, for light and dark. Nodes keep their
/// ids and classes. Throws SystemError if Graphviz is missing, fails or takes more than a minute.
std::string svg_of_dot(const std::string& dot);

}  // namespace touchstone::cli
