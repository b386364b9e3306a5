#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Shared by the verbs that write pages.

namespace touchstone::cli {

/// A page of data/ with `json` in the place of `mark`; nothing in it can look like the end of a
/// script.
std::string page_with(const unsigned char* page, std::size_t size, std::string_view mark,
                      std::string_view json);

/// The picture of a Graphviz graph, for light and dark: an SVG element without a prolog. Nodes keep
/// their ids and classes. Throws SystemError where Graphviz is missing, fails or takes more than a
/// minute.
std::string svg_of_dot(const std::string& dot);

}  // namespace touchstone::cli
