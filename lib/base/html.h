#pragma once

#include <string>
#include <string_view>

namespace touchstone {

/// Text as it stands in an HTML or XML page, between tags and in the quotes of an attribute.
std::string html_text(std::string_view text);

}  // namespace touchstone
