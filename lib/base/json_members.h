#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace touchstone {

/// Which objects of a JSON text are checked.
enum class Objects : bool { Outermost, All };
/// Returns the first name that occurs twice in an object of a JSON text, since parsers keep only
/// one of the two; nullopt if there is none or the text is not JSON.
std::optional<std::string> member_twice(std::string_view text, Objects objects);

}  // namespace touchstone
