#pragma once

#include <cstddef>
#include <span>

namespace touchstone::peers {

/// The float32 operations per second that `threads` cores reach in registers, with each product and
/// sum rounded, or `fused`.
double peak_flops(int threads, bool fused);

/// One pass of a core over `bytes` bytes of each source, a multiple of 64. ORs their bits and
/// streams the result past the caches to `to`, which is aligned to 64; without `to`, returns
/// whether any bit is set.
bool pass(std::span<const char* const> from, char* to, std::size_t bytes);

}  // namespace touchstone::peers
