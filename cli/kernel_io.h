#pragma once

#include <string>
#include <vector>

#include "touchstone/device/device.h"
#include "touchstone/device/npy.h"
#include "touchstone/ops/kernel_json.h"
#include "touchstone/symbolic/node.h"

namespace touchstone::cli {

/// "n=3" words as values. Throws ParseError.
symbolic::Values parse_values(const std::vector<std::string>& words);

/// One .npy a buffer, numbered from `first`, checked against the kernel's own list. Throws
/// ParseError or SystemError naming file and buffer.
std::vector<HostArray> read_arrays(const KernelFile& kernel, const std::vector<std::string>& paths,
                                   int first);

/// A buffer on `device` with these elements.
BufferPtr to_buffer(Device& device, const HostArray& array);

}  // namespace touchstone::cli
