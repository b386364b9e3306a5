#pragma once

#include <string>
#include <vector>

#include "touchstone/device/device.h"
#include "touchstone/device/npy.h"
#include "touchstone/fuzz/suite.h"
#include "touchstone/ops/kernel_json.h"
#include "touchstone/symbolic/node.h"
#include "verbs.h"

namespace touchstone::cli {

/// A kernel.json. Throws ParseError or SystemError naming the file.
KernelFile read_kernel(const std::string& path);
/// The same from a text that came from `path`.
KernelFile parse_kernel(const std::string& path, std::string_view text);

/// The kernel with the values of "n=3" words in place of its variables, and the buffers it then
/// takes. Throws ParseError or AstError where one has no value, two, or one outside its range.
KernelFile with_values(const KernelFile& kernel, const std::vector<std::string>& words);

/// One array a buffer, numbered from `first`, checked against the kernel's own list. A path is that
/// of a .npy, or FILE:NAME of a .npz or .safetensors; the one path of inputs may be that of a file
/// with arrays in1, in2, ... or arr_0, arr_1, ... Throws ParseError or SystemError naming file and
/// buffer.
std::vector<HostArray> read_arrays(const KernelFile& kernel, const std::vector<std::string>& paths,
                                   int first);

/// The suite of these words. Throws ParseError, DTypeError or AstError.
std::vector<fuzz::SuiteCase> draw_suite(const SuiteWords& words);

/// A buffer on `device` with these elements.
BufferPtr to_buffer(Device& device, const HostArray& array);

}  // namespace touchstone::cli
