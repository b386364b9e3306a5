#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace touchstone {

/// Returns the first name that occurs twice in an object of a JSON text, since parsers keep only
/// one of the two; nullopt if there is none or the text is not JSON. `Objects::Outermost` checks
/// only the outermost object.
enum class Objects : bool { Outermost, All };
std::optional<std::string> member_twice(std::string_view text, Objects objects);

}  // namespace touchstone
