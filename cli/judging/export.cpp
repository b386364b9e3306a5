#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "touchstone/base/file.h"
#include "touchstone/base/private_folder.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/lazy/realize.h"
#include "touchstone/standalone/standalone.h"
#include "touchstone/tensor/models.h"

namespace touchstone::cli {
namespace {

std::string bytes_of(const LazyBuffer& value) {
  const Buffer& buffer = *value.realized();
  std::string bytes(buffer.bytes(), '\0');
  buffer.copy_out(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

}  // namespace

int run_export(const ExportOptions& options) {
  const models::Model& model = models::model(options.model);
  // Products are rounded, which every C compiler can do.
  ClangOptions clang = ClangOptions::from_environment();
  clang.codegen.contract = false;
  register_clang_device(clang);
  const models::ModelGraph graph = model.build("CLANG", false);
  realize(graph.leaves());
  std::string name(model.name);
  std::ranges::replace(name, '-', '_');
  std::vector<LazyBufferPtr> inputs;
  for (const Tensor& input : graph.inputs)  // some may be the same
    if (std::ranges::find(inputs, input.lazy()->base_ptr()) == inputs.end())
      inputs.push_back(input.lazy()->base_ptr());
  const LazyBufferPtr output = graph.output.lazy()->contiguous();
  std::map<std::string, std::string> files =
      standalone_c(name, inputs, std::span(&output, 1), clang.codegen);

  // An example input and its output.
  std::string words;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string file = fmt::format("input{}.bin", i);
    files[file] = bytes_of(*inputs[i]);
    words += " " + file;
  }
  realize(std::span(&output, 1));
  files["expected.bin"] = bytes_of(*output);

  const std::filesystem::path folder = options.folder;
  make_own_folder(folder);
  for (const auto& [file, text] : files) {
    write_file_atomically(folder / file, text);
    fmt::print("{}  {} bytes\n", (folder / file).string(), text.size());
  }
  fmt::print(
      "to try it there:\n"
      "  cc -O2 -fno-tree-slp-vectorize -ffp-contract=off -std=c11 {0}.c main.c -lm -o {0}\n"
      "  ./{0} {0}.weights{1} output.bin && cmp output.bin expected.bin\n",
      name, words);
  return kExitOk;
}

}  // namespace touchstone::cli
