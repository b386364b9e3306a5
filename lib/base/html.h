#pragma once

#include <string>
#include <string_view>

namespace touchstone {

/// Escapes text for HTML or XML, for use between tags and in quoted attributes.
std::string html_text(std::string_view text);

}  // namespace touchstone
