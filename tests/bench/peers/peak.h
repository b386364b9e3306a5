#pragma once

#include <cstddef>
#include <span>

namespace touchstone::peers {

/// Floating-point operations of float32 a second that `threads` cores reach in registers, each
/// product and sum rounded, or `fused`.
double peak_flops(int threads, bool fused);

/// One pass of a core over `bytes` bytes, a multiple of 64, of each source: their bits or-ed are
/// written past the caches, to memory that begins at a multiple of 64; without `to`, gives whether
/// there is one.
bool pass(std::span<const char* const> from, char* to, std::size_t bytes);

}  // namespace touchstone::peers
