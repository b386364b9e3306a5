#pragma once

#include <memory>
#include <string>

#include "touchstone/clang/clang_options.h"
#include "touchstone/device/device.h"

namespace touchstone {

/// A device in host memory whose kernels are C compiled by clang into shared objects, kept on disk
/// from run to run. The compiler is looked for when the first kernel is made: Device::runner throws
/// SystemError where there is none, or where it fails.
std::unique_ptr<Device> make_clang_device(std::string name, ClangOptions options = {});

/// Makes "CLANG" known to Device::get. Without options they are read from the environment when the
/// device is first asked for.
void register_clang_device();
void register_clang_device(ClangOptions options);

}  // namespace touchstone
