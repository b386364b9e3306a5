#pragma once

#include <string>
#include <string_view>

#include "touchstone/interp/oracle/profile.h"

namespace touchstone {

/// True for a built-in profile's name, ignoring case and all but letters and digits: "cuda", "CUDA
/// ".
bool is_builtin_name(std::string_view name);

/// The differences of a profile from the default one, in words: "exp2 within 1e+06 ULP, flush
/// both". Empty if there are none.
std::string profile_words(const Profile& profile);

/// The profile that a device declares: a built-in name or JSON. A JSON profile is named after its
/// contents, "mine (its own: exp2 within 4 ULP)"; it keeps a built-in name only if it equals that
/// profile in everything else. Empty text is the default. Throws ParseError.
Profile declared_profile(std::string_view said);

}  // namespace touchstone
