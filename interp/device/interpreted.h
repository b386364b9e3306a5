#pragma once

#include <memory>
#include <string>

#include "touchstone/device/device.h"

namespace touchstone {

/// The reference device: evaluates a kernel's AST node by node over Eigen arrays, each value
/// correctly rounded, each sum exact and rounded once (docs/semantics.md). Prefers clarity to
/// speed. Checks every access against its buffer. Large kernels run in `threads` threads, 0 for one
/// per core; the result bits do not depend on it.
std::unique_ptr<Device> make_interpreted_device(std::string name = "CPU", int threads = 0);

/// Registers it as "CPU".
void register_interpreted_device();

}  // namespace touchstone
