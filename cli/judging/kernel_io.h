#pragma once

#include <string>
#include <vector>

#include "touchstone/cli/program/verbs.h"
#include "touchstone/device/device.h"
#include "touchstone/files/array_file.h"
#include "touchstone/files/npy.h"
#include "touchstone/fuzz/judge/reproducer.h"
#include "touchstone/fuzz/suites/suite.h"
#include "touchstone/judging/judging.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone::cli {

/// A kernel.json, with the judging.json beside it. Throws ParseError or SystemError naming the
/// file.
KernelToJudge read_kernel(const std::string& path);
/// The same from text read from `path`.
KernelToJudge parse_kernel(const std::string& path, std::string_view text);

/// Parses text such as "softmax(x[64,128])" (docs/define.md); inputs without sizes take those of
/// the arrays in `inputs`, in order. Throws ParseError that shows the place.
KernelToJudge kernel_of_text(const std::string& text, const std::vector<std::string>& inputs = {});
/// The kernel of a file or a text, whichever is not empty. Throws as those, and ParseError if both
/// or neither is given.
KernelToJudge kernel_named(const std::string& path, const std::string& op,
                           const std::vector<std::string>& inputs = {});

/// A reproducer. Throws ParseError naming the file.
fuzz::Reproducer parse_reproducer(const std::string& path, std::string_view text);

/// A kernel, its variables without values; or a reproducer in its place.
struct KernelOrRun {
  KernelToJudge kernel;
  std::optional<fuzz::Reproducer> run;
};
/// Throws ParseError if the words name neither or both, or a reproducer and arrays. `output`: the
/// option of that name, if the verb has one.
KernelOrRun kernel_or_run(const KernelWords& words, const std::string* output = nullptr);

/// "reduce_sum".
std::string lower_name(Op op);
/// An elementwise op or a reduce. Throws ParseError that lists them.
Op computing_op(const std::string& word);

/// The kernel with its variables replaced by the values of "n=3" words, and the buffers it then
/// takes. Throws ParseError or AstError if a variable has no value, two, or one out of range.
KernelToJudge with_values(const KernelToJudge& kernel, const std::vector<std::string>& words);

/// The condition on an array for buffer `idx`: its type, and at least its elements (exactly for the
/// output). Throws ParseError that begins with `label`. `kernel` must outlive the result.
Wanted wanted_by(const KernelToJudge& kernel, int idx, const std::string& label);

/// Reads one array per buffer, numbered from `first`, checked against the kernel's buffers. A path
/// names a .npy, or FILE:NAME in a .npz or .safetensors; a single path for the inputs may hold
/// arrays in1, in2, ... or arr_0, arr_1, ... Excess elements of an input are not read. Throws
/// ParseError or SystemError naming file and buffer.
std::vector<HostArray> read_arrays(const KernelToJudge& kernel,
                                   const std::vector<std::string>& paths, int first);

/// The suite that the words describe. Throws ParseError, DTypeError or AstError.
std::vector<fuzz::SuiteCase> draw_suite(const SuiteWords& words);

/// A kernel on probe inputs of every applicable family (fuzz/judge/probe.h), named after the
/// family.
std::vector<fuzz::SuiteCase> probe_cases(const LazyOpPtr& kernel, std::uint64_t seed);
/// Writes a folder per case, with kernel.json, judging.json and its inputs, into a new or empty
/// folder. Throws SystemError.
void write_cases(const std::string& folder, const std::vector<fuzz::SuiteCase>& cases,
                 const std::string& format, const Judging& judging,
                 const std::vector<std::string>& languages = {});

/// A buffer on `device` with these elements.
BufferPtr to_buffer(Device& device, const HostArray& array);

/// The buffers of a run, the output first: null if `output` is.
struct RunBuffers {
  std::vector<BufferPtr> owned;
  std::vector<Buffer*> raw;

  RunBuffers(const HostArray* output, std::span<const HostArray> inputs,
             Device& device = Device::get("CPU"));
};

}  // namespace touchstone::cli
