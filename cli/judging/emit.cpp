#include "touchstone/emit/emit.h"

#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/private_folder.h"
#include "touchstone/cli/judging/judging.h"
#include "touchstone/cli/judging/kernel_io.h"
#include "touchstone/cli/models/model_graph.h"
#include "touchstone/cli/program/orderly_end.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/files/array_file.h"
#include "touchstone/fuzz/suites/kernel_suite.h"
#include "touchstone/fuzz/suites/suite.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone::cli {
namespace {

namespace fs = std::filesystem;

bool means_all(const std::vector<std::string>& words) {
  return words.empty() || (words.size() == 1 && words[0] == "all");
}

// Refuses a non-empty folder, which may hold somebody's work.
void make_empty_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_empty(folder, error))
    throw SystemError(
        fmt::format("{} is not empty; give the name of a new folder", folder.string()));
  make_own_folder(folder);
}

std::vector<DType> dtypes_of(const SuiteWords& words) {
  std::vector<DType> dtypes;
  if (!means_all(words.dtypes))
    for (const std::string& word : words.dtypes) dtypes.push_back(parse_dtype(word));
  return dtypes;
}

std::vector<fuzz::SuiteCase> draw_ops(const SuiteWords& words) {
  fuzz::SuiteOptions wanted;
  wanted.elements = words.elements;
  wanted.seed = words.seed;
  wanted.dtypes = dtypes_of(words);
  if (!means_all(words.ops))
    for (const std::string& word : words.ops) wanted.ops.push_back(computing_op(word));
  return fuzz::draw_suite(wanted);
}

std::vector<fuzz::SuiteCase> draw_kernels(const SuiteWords& words) {
  fuzz::KernelSuiteOptions wanted;
  wanted.seed = words.seed;
  wanted.dtypes = dtypes_of(words);
  if (!means_all(words.kernels)) wanted.names = words.kernels;
  return fuzz::draw_kernel_suite(wanted);
}

// Each kernel of the model once, on probe inputs; named by its place in the schedule.
std::vector<fuzz::SuiteCase> draw_model(const SuiteWords& words) {
  const ConfigScope scope(config_of(-1, {}));
  const models::Model& model = models::model(words.model);
  std::vector<fuzz::SuiteCase> cases;
  std::set<std::string> known;
  std::size_t number = 0;
  for (const ScheduleItem& item : schedule_of(model, words.backward).items) {
    const std::size_t here = number++;
    if (item.kind != Op::Store) continue;
    const LazyOpPtr kernel =
        item.var_vals.empty() ? item.ast : bind_variables(item.ast, item.var_vals);
    if (!known.insert(kernel_hash(kernel_file(kernel))).second) continue;
    for (fuzz::SuiteCase& c : probe_cases(kernel, words.seed)) {
      c.name = fmt::format("{}-{:03}-{}-{}", model.name, here, kernel_name(kernel), c.name);
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

}  // namespace

std::vector<fuzz::SuiteCase> draw_suite(const SuiteWords& words) {
  if (!words.model.empty()) return draw_model(words);
  const bool all = words.suite == "all";
  const bool by_name = words.suite.empty() && words.ops.empty() != words.kernels.empty();
  const bool ops =
      all || words.suite == "ops" || (words.suite.empty() && (!by_name || !words.ops.empty()));
  const bool kernels = all || words.suite == "kernels" ||
                       (words.suite.empty() && (!by_name || !words.kernels.empty()));
  std::vector<fuzz::SuiteCase> cases;
  if (ops) cases = draw_ops(words);
  if (kernels)
    for (fuzz::SuiteCase& c : draw_kernels(words)) cases.push_back(std::move(c));
  if (cases.empty()) throw ParseError("none of these operations supports any of these types");
  return cases;
}

namespace {

std::int64_t count_of(const define::Sizes& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// What languages could not say, and how often.
using Unsaid = std::map<std::string, std::size_t>;

void write_programs(const fs::path& folder, const KernelToJudge& kernel,
                    const std::vector<NamedArray>& inputs,
                    std::span<const emit::Language> languages, Unsaid& unsaid) {
  std::vector<emit::EmitInput> shapes;
  for (const NamedArray& in : inputs) shapes.push_back({in.array.dtype, in.array.shape});
  for (const emit::Language language : languages) {
    std::string text;
    try {
      text = emit::emitted(
          kernel.ast, shapes, language,
          has_formula(kernel.judging) ? kernel.judging.definition : kernel_name(kernel.ast));
    } catch (const Error& e) {
      ++unsaid[e.what()];
      continue;
    }
    write_file_atomically(folder / emit::info(language).file, text);
  }
}

void write_into(const fs::path& root, const std::vector<fuzz::SuiteCase>& cases,
                const std::string& format, const Judging& judging,
                std::span<const emit::Language> languages, Unsaid& unsaid) {
  Progress progress("writing", static_cast<std::int64_t>(cases.size()));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Interrupt::poll();
    const fs::path folder = root / cases[i].name;
    make_own_folder(folder);
    const KernelToJudge kernel{kernel_file(cases[i].run.kernel), judging};
    write_file_atomically(folder / "kernel.json", to_json(kernel));
    write_file_atomically(folder / "judging.json", judging_json(kernel));
    std::vector<NamedArray> inputs;
    for (HostArray input : cases[i].run.inputs) {
      const std::size_t k = inputs.size();
      if (k < judging.inputs.size() && count_of(judging.inputs[k].shape) == input.size())
        input.shape = judging.inputs[k].shape;  // the user's
      inputs.push_back({fmt::format("in{}", k + 1), std::move(input)});
    }
    if (format == "npy")
      for (const NamedArray& input : inputs) write_npy(folder / (input.name + ".npy"), input.array);
    else
      write_array_file(folder / ("in." + format), inputs);
    write_programs(folder, kernel, inputs, languages, unsaid);
    progress.update(static_cast<std::int64_t>(i + 1));
  }
}

}  // namespace

void write_cases(const std::string& root_name, const std::vector<fuzz::SuiteCase>& cases,
                 const std::string& format, const Judging& judging,
                 const std::vector<std::string>& words) {
  std::vector<emit::Language> languages;
  for (const std::string& word : words) languages.push_back(emit::parse_language(word));
  Unsaid unsaid;
  const fs::path root = root_name;
  make_empty_folder(root);
  OrderlyEnd end([] {});
  try {
    write_into(root, cases, format, judging, languages, unsaid);
  } catch (...) {  // removes the incomplete suite
    std::error_code ignored;
    for (const fuzz::SuiteCase& c : cases) fs::remove_all(root / c.name, ignored);
    end.leave();
    throw;
  }
  for (const auto& [why, count] : unsaid) fmt::print("{}: {}\n", counted(count, "program"), why);
}

int run_emit(const EmitOptions& options) {
  if (options.folder == "-")
    throw ParseError("emit writes a folder, not standard output; give the name of a new one");
  if (!options.op.empty() && !options.suite.model.empty())
    throw ParseError("emit: --op and --model exclude each other");
  const std::optional<ChosenProfile> chosen = chosen_profile(options.profile);
  KernelToJudge kernel;
  if (!options.op.empty()) kernel = kernel_of_text(options.op, options.arrays);
  const std::vector<fuzz::SuiteCase> cases =
      options.op.empty() ? draw_suite(options.suite) : probe_cases(kernel.ast, options.suite.seed);
  write_cases(options.folder, cases, options.format, kernel.judging.under(chosen),
              options.languages);
  fmt::print(
      "{} in {}: each folder contains kernel.json and its inputs, {}\nwrite each output into the "
      "same folder as out.{}, then: touchstone judge {}{}\n",
      counted(cases.size(), "kernel"), options.folder,
      options.format == "npy" ? "in1.npy, in2.npy, ..." : "in." + options.format, options.format,
      options.folder, options.format == "npy" ? "" : " --out out." + options.format);
  return kExitOk;
}

}  // namespace touchstone::cli
