#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace touchstone::fuzz {

// Kernels of one operation on numbers drawn for it. Each function returns where the reference's
// answer, or constant folding of single numbers, differs from the definition (kernel_value.h).

/// Casts between two drawn types: any bits, NaNs of any payload, ties of the result's type and
/// their neighbours, numbers near its ends.
std::optional<std::string> cast_not_right(std::uint64_t choice);

/// Sums of floats that end on a tie, or off it by a term up to 80 powers of two smaller; larger
/// terms cancel.
std::optional<std::string> sum_not_right(std::uint64_t choice);

}  // namespace touchstone::fuzz
