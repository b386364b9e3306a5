#pragma once

#include <memory>
#include <string>

#include "touchstone/codegen/fault.h"
#include "touchstone/device/device.h"

namespace touchstone {

/// Whether libtcc was there when this was built.
bool has_tcc();

/// A device in host memory whose kernels are the C of the CLANG device, compiled by libtcc into
/// memory: some 20 us a kernel instead of milliseconds, unoptimised, on one thread. Kernels that
/// are prepared together are one compilation. What differs from CLANG is the compiler alone. The
/// first kernel throws SystemError where libtcc was not there. `fault` is put into the code.
/// `parts`: the iterations that threads of CLANG would share are done in so many parts, the last
/// part first.
std::unique_ptr<Device> make_tcc_device(std::string name = "TCC",
                                        const CodegenOptions& codegen = {},
                                        Fault fault = Fault::None, int parts = 1);

}  // namespace touchstone
