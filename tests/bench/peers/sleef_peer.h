#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace touchstone::peers {

/// exp2, log2 or sin of `count` float32 by SLEEF's 1 ULP vector functions, in the processor's
/// widest registers.
std::function<void()> sleef_function(std::string_view name, std::int64_t count, int threads);

}  // namespace touchstone::peers
