#pragma once

#include <cstdint>

#include "touchstone/fuzz/areas/reference_check.h"

namespace touchstone::fuzz {

/// How many elements a concrete kernel may read, of views that are not stacks: the terms of a
/// reduce once for each place of the output along the axes on which any reduce depends, and, below
/// another reduce, once for each of its terms only if it is another number for them; what is
/// outside reduces once an element. Throws TooManyCells.
std::int64_t allowed_reads(const LazyOpPtr& kernel);

/// Whether our own code for the kernel reads more than twice as often, which tiles that overlap
/// come near to. Not asked of kernels with variables or stacks of views, nor of those that run
/// long.
Reply reads_too_often(const KernelCase& c);

}  // namespace touchstone::fuzz
