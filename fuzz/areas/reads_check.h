#pragma once

#include <cstdint>

#include "touchstone/fuzz/areas/reference_check.h"

namespace touchstone::fuzz {

/// The number of elements a concrete kernel without stacked views may read. The terms of a reduce
/// are read once per position along the output axes on which any reduce depends; below another
/// reduce, once for each of its terms only if the value depends on the term; everything outside
/// reduces once an element. Throws TooManyCells.
std::int64_t allowed_reads(const LazyOpPtr& kernel);

/// Tests whether our code for the kernel reads more than twice that; overlapping tiles come close.
/// Not asked of kernels with variables or stacked views, or that run long.
Reply reads_too_often(const KernelCase& c);

}  // namespace touchstone::fuzz
