#pragma once

#include <span>

#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone::lazy {

/// Runs a custom function, which reads and writes the host's memory: where a buffer's device has
/// memory of its own, on copies. Throws as the function does.
void run_custom(const CustomFunction& function, Buffer& out, std::span<Buffer* const> in);

}  // namespace touchstone::lazy
