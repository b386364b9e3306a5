#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace touchstone {

/// The first name that an object of a JSON text has twice, of which parsers keep one or the other;
/// nullopt where there is none, or the text is no JSON. `Objects::Outermost` looks at no others.
enum class Objects : bool { Outermost, All };
std::optional<std::string> member_twice(std::string_view text, Objects objects);

}  // namespace touchstone
