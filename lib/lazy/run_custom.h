#pragma once

#include <span>

#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone::lazy {

/// Runs a custom function on host memory, using copies for devices with their own memory. Throws as
/// the function does.
void run_custom(const CustomFunction& function, Buffer& out, std::span<Buffer* const> in);

}  // namespace touchstone::lazy
