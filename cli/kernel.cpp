#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernel_io.h"
#include "terminal.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/clang/clang_options.h"
#include "touchstone/clang/compiler.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/codegen/render_c.h"
#include "touchstone/define/definitions.h"
#include "touchstone/define/text.h"
#include "verbs.h"

namespace touchstone::cli {
namespace {

void list_definitions(bool as_json) {
  if (as_json) {
    for (const define::Definition& d : define::definitions())
      fmt::print("{}\n", nlohmann::ordered_json{{"name", d.name()},
                                                {"group", d.group},
                                                {"signature", d.signature},
                                                {"summary", d.summary}}
                             .dump());
    return;
  }
  std::string group;
  for (const define::Definition& d : define::definitions()) {
    if (d.group != group) fmt::print("{}{}\n", group.empty() ? "" : "\n", bold(d.group));
    group = d.group;
    fmt::print("  {}\n      {}\n", d.signature, dim(d.summary));
  }
}

bool is_file(const std::string& text) {
  std::error_code ignored;
  return text.ends_with(".json") || std::filesystem::is_regular_file(text, ignored);
}

// The kernel on its way to the CLANG device.
std::string at_stage(const LazyOpPtr& kernel, const std::string& stage) {
  if (stage == "ast") return str(kernel);
  const ClangOptions options = ClangOptions::from_environment();
  const LinearKernel linear = linearize(kernel, for_this_machine(options.codegen));
  if (stage == "uops") return str(linear);
  if (stage == "profile") return profile_json(linear) + "\n";
  const std::string c = render_c(linear);
  return stage == "c" ? c : clang::Compiler(options).assembly(c);
}

}  // namespace

int run_kernel(const KernelOptions& options) {
  if (options.json && !options.list) throw ParseError("kernel: --json is of --list");
  if (options.list) {
    list_definitions(options.json);
    return kExitOk;
  }
  if (options.text.empty())
    throw ParseError(
        "name a kernel, as 'softmax(x[64,128])'; touchstone kernel --list prints the definitions");
  if (!options.stage.empty()) {
    const LazyOpPtr kernel = is_file(options.text) ? read_kernel(options.text).ast
                                                   : define::parse(options.text).kernel();
    const std::string text = at_stage(kernel, options.stage);
    if (options.output.empty() || options.output == "-")
      fmt::print("{}", text);
    else
      write_file_atomically(options.output, text);
    return kExitOk;
  }
  if (is_file(options.text))
    throw ParseError(fmt::format(
        "kernel: {} is a kernel already; --stage prints what becomes of it", options.text));
  const define::Formula formula = define::parse(options.text);
  const KernelFile file = kernel_file(formula.kernel());
  if (options.tree) {
    fmt::print("{}", str(file.ast));
    return kExitOk;
  }
  if (options.output.empty() || options.output == "-") {
    fmt::print("{}", to_json(file));
    return kExitOk;
  }
  write_file_atomically(options.output, to_json(file));
  fmt::print("{}: {}; output {} of {}\n", options.output,
             counted(toposort(file.ast).size(), "node"),
             str(std::span<const sint>(file.ast->shape())), name(file.ast->dtype()));
  for (std::size_t i = 0; i < formula.inputs.size(); ++i)
    for (const BufferSpec& spec : file.buffers)
      if (spec.idx == static_cast<int>(i) + 1)
        fmt::print("  input {} {}: {} of {}\n", spec.idx, formula.inputs[i],
                   counted(spec.size, "element"), name(spec.dtype));
  return kExitOk;
}

}  // namespace touchstone::cli
