#pragma once

namespace touchstone::peers {

/// Floating-point operations of float32 a second that `threads` cores reach in registers, each
/// product and sum rounded, or `fused`.
double peak_flops(int threads, bool fused);

}  // namespace touchstone::peers
