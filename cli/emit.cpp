#include <filesystem>

#include <fmt/format.h>

#include "kernel_io.h"
#include "terminal.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/device/array_file.h"
#include "touchstone/fuzz/suite.h"
#include "touchstone/ops/kernel_json.h"
#include "verbs.h"

namespace touchstone::cli {
namespace {

namespace fs = std::filesystem;

bool means_all(const std::vector<std::string>& words) {
  return words.empty() || (words.size() == 1 && words[0] == "all");
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw SystemError(
        fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
}

// A folder that holds something may be somebody's work.
void make_empty_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_empty(folder, error))
    throw SystemError(fmt::format("{} is not empty; name a new folder", folder.string()));
  make_folder(folder);
}

}  // namespace

std::vector<fuzz::SuiteCase> draw_suite(const SuiteWords& words) {
  fuzz::SuiteOptions wanted;
  wanted.elements = words.elements;
  wanted.seed = words.seed;
  if (!means_all(words.ops))
    for (const std::string& word : words.ops) wanted.ops.push_back(parse_op(word));
  if (!means_all(words.dtypes))
    for (const std::string& word : words.dtypes) wanted.dtypes.push_back(parse_dtype(word));
  std::vector<fuzz::SuiteCase> cases = fuzz::draw_suite(wanted);
  if (cases.empty()) throw ParseError("none of these operations takes any of these types");
  return cases;
}

int run_emit(const EmitOptions& options) {
  const std::vector<fuzz::SuiteCase> cases = draw_suite(options.suite);
  const fs::path root = options.folder;
  make_empty_folder(root);
  Progress progress("writing", static_cast<std::int64_t>(cases.size()));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const fs::path folder = root / cases[i].name;
    make_folder(folder);
    write_file_atomically(folder / "kernel.json", to_json(kernel_file(cases[i].run.kernel)));
    std::vector<NamedArray> inputs;
    for (const HostArray& input : cases[i].run.inputs)
      inputs.push_back({fmt::format("in{}", inputs.size() + 1), input});
    if (options.format == "npy")
      for (const NamedArray& input : inputs) write_npy(folder / (input.name + ".npy"), input.array);
    else
      write_array_file(folder / ("in." + options.format), inputs);
    progress.update(static_cast<std::int64_t>(i + 1));
  }
  fmt::print(
      "{} kernels in {}: each folder holds kernel.json and its inputs, {}\n"
      "write each output beside them as out.{}, then: touchstone judge {}{}\n",
      cases.size(), root.string(),
      options.format == "npy" ? "in1.npy and on" : "in." + options.format, options.format,
      root.string(), options.format == "npy" ? "" : " --out out." + options.format);
  return kExitOk;
}

}  // namespace touchstone::cli
