#pragma once

#include <memory>
#include <string>

#include "touchstone/codegen/fault.h"
#include "touchstone/device/device.h"

namespace touchstone {

/// True if built with libtcc.
bool has_tcc();

/// Makes a host-memory device that compiles the CLANG device's C code with libtcc into memory:
/// about 20 us per kernel instead of milliseconds, unoptimised, on one thread. Only the compiler
/// differs from CLANG. Kernels prepared together are one compilation. Without libtcc the first
/// kernel throws SystemError. `fault` is injected into the code. `parts`: runs the iterations that
/// CLANG's threads would share in so many parts, the last one first.
std::unique_ptr<Device> make_tcc_device(std::string name = "TCC",
                                        const CodegenOptions& codegen = {},
                                        Fault fault = Fault::None, int parts = 1);

}  // namespace touchstone
