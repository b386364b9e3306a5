#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace touchstone::peers {

/// exp2, log2 or sin of `count` float32 by SLEEF's 1 ULP vector functions, in the processor's
/// widest registers, of AVX2 under TOUCHSTONE_MARCH=x86-64-v3: computes one of `parts` parts.
std::function<void(int part, int parts)> sleef_function(std::string_view name, std::int64_t count);

}  // namespace touchstone::peers
