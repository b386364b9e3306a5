#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/clang/clang_options.h"
#include "touchstone/clang/compiler.h"
#include "touchstone/cli/judging/definition_text.h"
#include "touchstone/cli/judging/kernel_io.h"
#include "touchstone/cli/models/kernels_page.h"
#include "touchstone/cli/models/layout_text.h"
#include "touchstone/cli/program/search_progress.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/codegen/layout.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/codegen/render_c.h"
#include "touchstone/cuda/cuda_device.h"
#include "touchstone/define/definitions.h"
#include "touchstone/define/text.h"
#include "touchstone/search/beam.h"

namespace touchstone::cli {
namespace {

constexpr int kLeastCapability = 70;  // of the PTX shown, which later GPUs also run

void list_definitions(bool as_json) {
  std::string group;
  for (const define::Definition& d : define::definitions()) {
    if (as_json) {
      fmt::print("{}\n", definition_json(d).dump());
      continue;
    }
    if (d.group != group) fmt::print("{}{}\n", group.empty() ? "" : "\n", bold(d.group));
    group = d.group;
    fmt::print("{}", definition_text(d));
  }
}

std::string milliseconds(double seconds) { return fmt::format("{:.3f} ms", seconds * 1e3); }

bool is_file(const std::string& text) {
  std::error_code ignored;
  return text.ends_with(".json") || std::filesystem::is_regular_file(text, ignored);
}

// Returns the list found.
std::string search_layout(const LazyOpPtr& kernel, const KernelOptions& o) {
  BeamOptions options;
  options.width = o.beam;
  options.seconds = o.seconds;
  Progress progress("search", 0);
  options.progress = [&](const BeamProgress& now) { show_search(progress, now); };
  const BeamResult found = search_opts(kernel, ClangOptions::from_environment(), options);
  progress.hide();
  for (const std::string& wrong : found.wrong)
    fmt::print(stderr, "touchstone: {}: {}\n", red("wrong"), wrong);
  if (o.stage.empty())
    fmt::print(
        "{} tried\nhand-coded {:>10}  {}\nbest       {:>10}  {}\n", counted(found.tried, "layout"),
        milliseconds(found.hand_coded),
        str(hand_coded_optimizations(kernel, for_this_machine(ClangOptions::from_environment()))),
        milliseconds(found.seconds), str(found.opts));
  return str(found.opts);
}

// The kernel at one stage of its compilation for CLANG.
std::string at_stage(const LazyOpPtr& kernel, const std::string& stage, const std::string& opts) {
  if (stage == "ast") return str(kernel);
  if (stage == "cuda" || stage == "ptx") {
    CudaOptions cuda = CudaOptions::from_environment();
    if (!opts.empty()) cuda.codegen.opts = parse_opts(opts);
    return stage == "cuda" ? cuda_source(kernel, cuda)
                           : cuda_ptx(std::span(&kernel, 1), kLeastCapability, cuda);
  }
  ClangOptions options = ClangOptions::from_environment();
  options.codegen = for_this_machine(options);
  if (!opts.empty()) options.codegen.opts = parse_opts(opts);
  if (stage == "opts") return layout_text(kernel, options.codegen);
  const LinearKernel linear = linearize(kernel, options.codegen);
  if (stage == "steps") return str(linear);
  if (stage == "profile") return profile_json(linear) + "\n";
  const std::string c = render_vector_c(linear);
  return stage == "c" ? c : clang::Compiler(options).assembly(c);
}

}  // namespace

int run_kernel(const KernelOptions& options) {
  if (options.json && !options.list) throw ParseError("kernel: --json needs --list");
  if (options.list) {
    list_definitions(options.json);
    return kExitOk;
  }
  if (options.text.empty())
    throw ParseError(
        "no kernel given, as in 'softmax(x[64,128])'; touchstone kernel --list prints the "
        "definitions");
  const auto kernel_of = [](const std::string& text) {
    return is_file(text) ? read_kernel(text).ast : define::parse(text).kernel();
  };
  if (!options.html.empty()) {
    write_kernels_page(options.html, options.text, {{"kernel", {kernel_of(options.text)}}});
    return kExitOk;
  }
  if (!options.stage.empty() || options.beam > 0) {
    const LazyOpPtr kernel = kernel_of(options.text);
    const std::string opts = options.beam > 0 ? search_layout(kernel, options) : options.opts;
    if (options.stage.empty()) return kExitOk;
    const std::string text = at_stage(kernel, options.stage, opts);
    if (options.output.empty() || options.output == "-")
      fmt::print("{}", text);
    else
      write_file_atomically(options.output, text);
    return kExitOk;
  }
  if (is_file(options.text))
    throw ParseError(fmt::format("kernel: {} is already a kernel; --stage and --html show its code",
                                 options.text));
  const KernelToJudge file = formula_to_judge(options.text);
  if (options.tree) {
    fmt::print("{}", str(file.ast));
    return kExitOk;
  }
  if (options.output.empty() || options.output == "-") {
    fmt::print("{}", to_json(file));
    return kExitOk;
  }
  write_file_atomically(options.output, to_json(file));
  const std::filesystem::path judging = judging_path(options.output);
  write_file_atomically(judging, judging_json(file));
  fmt::print("{}: {}; output {} of {}\n", options.output,
             counted(toposort(file.ast).size(), "node"),
             str(std::span<const sint>(file.ast->shape())), name(file.ast->dtype()));
  for (const BufferSpec& spec : file.buffers)
    if (spec.idx > 0)
      fmt::print("  input {} {}: {} of {}\n", spec.idx,
                 file.judging.inputs[static_cast<std::size_t>(spec.idx) - 1].name,
                 counted(spec.size, "element"), name(spec.dtype));
  fmt::print("{}: the text, judged {}\n", judging.string(), file.judging.str());
  return kExitOk;
}

}  // namespace touchstone::cli
