#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace touchstone::fuzz {

// Kernels of one operation on numbers that are drawn for it: where the reference's answer, or that
// of numbers one by one as constants are folded, is not what the kernel is by definition
// (kernel_value.h).

/// Casts between two types, drawn: any bits, NaNs of any payload, numbers halfway between two of
/// the result's or next to that, near its least and largest ones.
std::optional<std::string> cast_not_right(std::uint64_t choice);

/// Sums of floats that end halfway between two numbers, or next to that by a term that is smaller
/// by up to 80 powers of two; larger terms cancel.
std::optional<std::string> sum_not_right(std::uint64_t choice);

}  // namespace touchstone::fuzz
