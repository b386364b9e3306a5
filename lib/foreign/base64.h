#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace touchstone::foreign {

/// Encodes as in RFC 4648, section 4: standard alphabet, padded.
std::string to_base64(std::string_view bytes);
/// Decodes strictly; nullopt for any other text, including text with whitespace.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace touchstone::foreign
