#pragma once

#include <string>
#include <vector>

#include "touchstone/define/text.h"
#include "touchstone/device/device.h"
#include "touchstone/files/array_file.h"
#include "touchstone/files/npy.h"
#include "touchstone/fuzz/judge/reproducer.h"
#include "touchstone/fuzz/suites/suite.h"
#include "touchstone/ops/kernel_json.h"
#include "touchstone/symbolic/node/node.h"
#include "verbs.h"

namespace touchstone::cli {

/// A kernel.json. Throws ParseError or SystemError naming the file.
KernelFile read_kernel(const std::string& path);
/// The same from a text that came from `path`.
KernelFile parse_kernel(const std::string& path, std::string_view text);

/// A text as "softmax(x[64,128])" (docs/define.md); inputs that stand there without sizes have
/// those of the arrays that `inputs` name, in order. Throws ParseError that shows the place.
define::Formula formula_of(const std::string& text, const std::vector<std::string>& inputs = {});
/// Its kernel.
KernelFile kernel_of_text(const std::string& text, const std::vector<std::string>& inputs = {});
/// The kernel of a file or of a text, whichever is not empty. Throws as those, ParseError also
/// where both are or neither is.
KernelFile kernel_named(const std::string& path, const std::string& op,
                        const std::vector<std::string>& inputs = {});

/// A reproducer. Throws ParseError naming the file.
fuzz::Reproducer parse_reproducer(const std::string& path, std::string_view text);

/// An elementwise operation or a reduce. Throws ParseError that lists them.
Op computing_op(const std::string& word);

/// The kernel with the values of "n=3" words in place of its variables, and the buffers it then
/// takes. Throws ParseError or AstError where one has no value, two, or one outside its range.
KernelFile with_values(const KernelFile& kernel, const std::vector<std::string>& words);

/// The condition that buffer `idx` of the kernel puts on an array: its type, at least its elements,
/// of the output exactly those. Throws ParseError that begins with `label`. The kernel must stay.
Wanted wanted_by(const KernelFile& kernel, int idx, const std::string& label);

/// One array a buffer, numbered from `first`, checked against the kernel's own list. A path is that
/// of a .npy, or FILE:NAME of a .npz or .safetensors; the one path of inputs may be that of a file
/// with arrays in1, in2, ... or arr_0, arr_1, ... Of an input that is longer than its buffer the
/// rest is not read. Throws ParseError or SystemError naming file and buffer.
std::vector<HostArray> read_arrays(const KernelFile& kernel, const std::vector<std::string>& paths,
                                   int first);

/// The suite of these words. Throws ParseError, DTypeError or AstError.
std::vector<fuzz::SuiteCase> draw_suite(const SuiteWords& words);

/// A kernel on inputs of every family that is drawn for it (fuzz/judge/probe.h), each named as
/// that is.
std::vector<fuzz::SuiteCase> probe_cases(const LazyOpPtr& kernel, std::uint64_t seed);
/// A folder for each case, with kernel.json and its inputs, in a new folder or an empty one. Throws
/// SystemError.
void write_cases(const std::string& folder, const std::vector<fuzz::SuiteCase>& cases,
                 const std::string& format);

/// A buffer on `device` with these elements.
BufferPtr to_buffer(Device& device, const HostArray& array);

}  // namespace touchstone::cli
