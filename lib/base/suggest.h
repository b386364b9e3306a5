#pragma once

#include <span>
#include <string>
#include <string_view>

namespace touchstone {

/// Levenshtein distance of two short words, ignoring case.
int edit_distance(std::string_view a, std::string_view b);

/// Returns `; did you mean 'x'?` for the candidate nearest to `word`, or "" if none is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace touchstone
