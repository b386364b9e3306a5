#pragma once

#include <string>
#include <string_view>

#include "touchstone/interp/oracle/profile.h"

namespace touchstone {

/// Whether this is a built-in profile's name, however it is written: "cuda", "CUDA ".
bool is_builtin_name(std::string_view name);

/// The members in which a profile differs from the default one, in words: "exp2 within 1e+06 ULP,
/// flush both". Empty where nothing does.
std::string profile_words(const Profile& profile);

/// The profile that a device declares about itself: a built-in one's name, or the JSON of one. That
/// of JSON is called by what it says, "mine (its own: exp2 within 4 ULP)"; as a built-in one only
/// where it is that in all but its name. Empty text: the default. Throws ParseError.
Profile declared_profile(std::string_view said);

}  // namespace touchstone
