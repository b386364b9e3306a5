#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "judging.h"
#include "kernel_io.h"
#include "terminal.h"
#include "touchstone/base/error.h"
#include "touchstone/interp/interpreted.h"
#include "verbs.h"

namespace touchstone::cli {
namespace {

namespace fs = std::filesystem;

// The folders that hold a kernel.json, by name; `root` itself where it holds one.
std::vector<fs::path> cases_in(const fs::path& root) {
  std::error_code error;
  std::vector<fs::path> found;
  if (fs::exists(root / "kernel.json", error)) return {root};
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error))
    if (std::error_code ignored; fs::exists(it->path() / "kernel.json", ignored))
      found.push_back(it->path());
  if (error)
    throw SystemError(fmt::format("cannot read the folder {}: {}", root.string(), error.message()));
  if (found.empty())
    throw ParseError(fmt::format(
        "{} holds no folder with a kernel.json; touchstone emit makes some", root.string()));
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> input_paths(const fs::path& folder, const KernelFile& file) {
  for (const char* all : {"in.npz", "in.safetensors"})
    if (std::error_code error; fs::exists(folder / all, error)) return {(folder / all).string()};
  std::vector<std::string> inputs;
  for (const BufferSpec& spec : file.buffers)
    if (spec.idx > 0) inputs.push_back((folder / fmt::format("in{}.npy", spec.idx)).string());
  return inputs;
}

// One line of the report.
struct JudgedKernel {
  std::string name;
  LazyOpPtr kernel;  // null where it could not be read
  Verdict verdict;
  std::string unsupported;  // why the backend did not take it; there is no verdict then
};

// What the verdicts are read from: a suite in folders, or one drawn for the backend.
class Cases {
 public:
  Cases(const JudgeOptions& options, foreign::BackendProcess* backend, Profile profile)
      : options_(options), backend_(backend), profile_(std::move(profile)) {
    if (options.folder.empty())
      drawn_ = draw_suite(options.suite);
    else
      folders_ = cases_in(options.folder);
  }

  std::size_t size() const { return folders_.size() + drawn_.size(); }

  JudgedKernel judge(std::size_t i) const {
    JudgedKernel judged;
    judged.name = folders_.empty() ? drawn_[i].name : folders_[i].filename().string();
    try {
      if (folders_.empty()) {
        judged.kernel = drawn_[i].run.kernel;
        ask(kernel_file(judged.kernel), drawn_[i].run.inputs, judged);
        return judged;
      }
      const KernelFile file = read_kernel((folders_[i] / "kernel.json").string());
      judged.kernel = file.ast;
      const std::vector<std::string> inputs = input_paths(folders_[i], file);
      if (backend_ != nullptr)
        ask(file, read_arrays(file, inputs, 1), judged);
      else
        judged.verdict =
            judge_files(file, inputs, (folders_[i] / options_.output).string(), profile_);
    } catch (const Error& e) {
      judged.verdict = no_verdict(Outcome::Unusable, e.what());
    }
    return judged;
  }

 private:
  void ask(const KernelFile& file, const std::vector<HostArray>& inputs,
           JudgedKernel& judged) const {
    const foreign::Answer answer = backend_->run(file, inputs);
    if (answer.kind == foreign::Answer::Kind::Unsupported)
      judged.unsupported = answer.why;
    else
      judged.verdict = judge_answer(file.ast, inputs, answer, profile_);
  }

  const JudgeOptions& options_;
  foreign::BackendProcess* backend_;
  Profile profile_;
  std::vector<fs::path> folders_;
  std::vector<fuzz::SuiteCase> drawn_;
};

std::string coloured(Outcome outcome) {
  const std::string text(name(outcome));
  return outcome == Outcome::Pass   ? green(text)
         : outcome == Outcome::Fail ? red(text)
                                    : yellow(text);
}

std::string line_of(const JudgedKernel& judged, const Profile& profile, bool as_json) {
  if (judged.unsupported.empty())
    return as_json ? json_of(judged.verdict, judged.kernel, profile, judged.name)
                   : fmt::format("{} {}", bold(judged.name), judged.verdict.str());
  return as_json ? nlohmann::ordered_json{{"case", judged.name},
                                          {"verdict", nullptr},
                                          {"unsupported", judged.unsupported}}
                       .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                 : fmt::format("{} unsupported: {}", bold(judged.name), judged.unsupported);
}

}  // namespace

int run_judge(const JudgeOptions& options) {
  register_interpreted_device();
  std::unique_ptr<foreign::BackendProcess> backend;
  std::string on;  // which backend
  if (!options.backend.command.empty() || !options.backend.plugin.empty()) {
    backend = start_backend(options.backend);
    on = " on " + backend->capabilities().name;
  }
  if (!backend && options.folder.empty())
    throw ParseError(
        "nothing to judge: name a folder that emit wrote, or a --backend or a --plugin");
  const Profile profile = backend ? profile_of(backend->capabilities(), options.profile)
                                  : read_profile(options.profile);
  const Cases cases(options, backend.get(), profile);
  std::map<Outcome, int> counts;
  int unsupported = 0;
  std::vector<std::string> lines;
  {
    Progress progress("judging", static_cast<std::int64_t>(cases.size()));
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const JudgedKernel judged = cases.judge(i);
      const bool judgeable = judged.unsupported.empty();
      if (judgeable)
        ++counts[judged.verdict.outcome];
      else
        ++unsupported;
      const bool calm = !judgeable || judged.verdict.outcome == Outcome::Pass;
      if (options.json || options.all || !calm)
        lines.push_back(line_of(judged, profile, options.json));
      progress.update(static_cast<std::int64_t>(i + 1));
    }
  }
  for (const std::string& line : lines) fmt::print("{}\n", line);
  if (!options.json) {
    std::vector<std::string> parts;
    for (const Outcome o : {Outcome::Pass, Outcome::Weak, Outcome::Fail, Outcome::Unusable})
      parts.push_back(fmt::format("{} {}", counts[o], coloured(o)));
    if (backend) parts.push_back(fmt::format("{} unsupported", unsupported));
    fmt::print("{} kernels{} under profile {}: {}\n", cases.size(), on, profile.name,
               fmt::join(parts, ", "));
  }
  for (const Outcome o : {Outcome::Fail, Outcome::Unusable, Outcome::Weak})
    if (counts[o] > 0) return exit_code(o);
  return kExitOk;
}

}  // namespace touchstone::cli
