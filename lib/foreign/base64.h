#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace touchstone::foreign {

/// RFC 4648, section 4: the usual alphabet, padded.
std::string to_base64(std::string_view bytes);
/// nullopt where the text is not of that form; nothing may stand between the digits.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace touchstone::foreign
