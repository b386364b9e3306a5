#include <fmt/format.h>

#include "judging.h"
#include "kernel_io.h"
#include "terminal.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/device/config.h"
#include "touchstone/fuzz/reproducer.h"
#include "touchstone/interp/interpreted.h"
#include "verbs.h"

namespace touchstone::cli {

int run_check(const CheckOptions& options) {
  const ConfigScope scope(Config::from_environment());
  register_interpreted_device();
  const Profile profile = read_profile(options.profile);
  const std::string text = read_file(options.file);
  Verdict verdict;
  LazyOpPtr kernel;
  std::string note;
  if (fuzz::is_reproducer(text)) {
    if (!options.inputs.empty() || !options.output.empty())
      throw ParseError(fmt::format(
          "{} is a reproducer and holds its own arrays; leave out --in and --out", options.file));
    const fuzz::Reproducer reproducer = fuzz::reproducer_from_json(text);
    kernel = reproducer.run.kernel;
    note = reproducer.note;
    verdict = fuzz::judge(reproducer, profile);
  } else {
    const KernelFile whole = parse_kernel(options.file, text);
    kernel = whole.ast;
    if (options.output.empty())
      throw ParseError("a kernel.json is checked with --in A.npy ... --out Y.npy");
    const KernelFile file = with_values(whole, options.variables);
    verdict = judge_files(file, options.inputs, options.output, profile);
  }
  if (options.json) {
    fmt::print("{}\n", json_of(verdict, kernel, profile));
  } else {
    if (!note.empty()) fmt::print("{}\n", dim(note));
    fmt::print("{}\n", verdict.str());
  }
  return exit_code(verdict.outcome);
}

}  // namespace touchstone::cli
