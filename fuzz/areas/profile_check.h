#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace touchstone::fuzz {

/// Draws a kernel of one to three ops, an answer and a profile. The oracle must accept the answer
/// if the profile allows it and refuse the smallest change beyond. Covers function errors, signed
/// zeros, positions outside, MAX of NaN, subnormals, and products that stay unrounded or lose
/// digits. Returns the answer that was judged wrongly.
std::optional<std::string> profile_not_kept(std::uint64_t choice);

}  // namespace touchstone::fuzz
