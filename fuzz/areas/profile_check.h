#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace touchstone::fuzz {

/// A kernel of one to three ops, an answer to it and a profile, drawn: the oracle takes the answer
/// if the profile's own words allow it, with the least change that they allow, and refuses the
/// least that they do not. Errors of functions, zeros of either sign, positions outside, MAX of a
/// NaN, subnormals, products that stay unrounded or lose digits. The answer that is judged wrongly.
std::optional<std::string> profile_not_kept(std::uint64_t choice);

}  // namespace touchstone::fuzz
