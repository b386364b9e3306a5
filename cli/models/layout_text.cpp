#include "touchstone/cli/models/layout_text.h"

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/clang/machine.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/codegen/layout.h"

namespace touchstone::cli {

std::string layout_text(const LazyOpPtr& kernel, const CodegenOptions& options) {
  const LazyOpPtr axes = axes_of_opts(kernel, options);
  const Opts opts = options.opts ? *options.opts : hand_coded_optimizations(kernel, options);
  if (const auto why = refusal(kernel, opts, options)) throw AstError(*why);
  std::string text = fmt::format("{}\naxes of the output: {}\n", str(opts),
                                 str(std::span<const sint>(axes->shape())));
  for (const Opt& opt : opts)
    text += fmt::format("  {:<24} {}\n", str(Opts{opt}), info(opt.kind).effect);
  return text;
}

std::string machine_text() {
  Table table({"this machine", "opts", "therefore"}, {false, false, false});
  for (const LayoutReason& reason : reasons_for(this_machine(ClangOptions::from_environment())))
    table.add({reason.fact, reason.opts, reason.size});
  return table.fitted();
}

}  // namespace touchstone::cli
