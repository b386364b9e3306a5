#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "touchstone/base/error.h"
#include "touchstone/base/hash.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/json_line.h"
#include "touchstone/base/visible.h"
#include "touchstone/cli/judging/judge_log.h"
#include "touchstone/cli/judging/judging.h"
#include "touchstone/cli/judging/kernel_io.h"
#include "touchstone/cli/program/data_output.h"
#include "touchstone/cli/program/installed.h"
#include "touchstone/cli/program/orderly_end.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/cli/program/work_limits.h"

namespace touchstone::cli {
namespace {

namespace fs = std::filesystem;

// The folders with a kernel.json, by name; `root` itself if it has one.
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
    throw ParseError(
        fmt::format("{} contains no folder with a kernel.json; write some with touchstone emit",
                    root.string()));
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

// One kernel, judged.
struct JudgedKernel {
  std::string name;
  LazyOpPtr kernel;  // null if it could not be read
  Judging judging;
  Verdict verdict;
  std::optional<std::string> unsupported;  // why the backend refused the kernel
};

// Changes when a file of the folder changes.
std::string stamp_of(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    struct stat facts {};
    if (::stat(it->path().c_str(), &facts) == 0)
      files.push_back(fmt::format("{}/{}/{}.{:09}", it->path().filename().string(), facts.st_size,
                                  facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec));
  }
  std::ranges::sort(files);
  return content_hash(fmt::format("{}", fmt::join(files, "\n")));
}

// The cases to judge: a suite in folders, or one drawn for the backend.
class Cases {
 public:
  Cases(const JudgeOptions& options, foreign::BackendProcess* backend,
        std::optional<ChosenProfile> chosen)
      : options_(options), backend_(backend), chosen_(std::move(chosen)) {
    if (options.folder.empty())
      drawn_ = draw_suite(options.suite);
    else
      folders_ = cases_in(options.folder);
  }

  std::size_t size() const { return folders_.size() + drawn_.size(); }

  std::string name(std::size_t i) const {
    return folders_.empty() ? drawn_[i].name : folders_[i].filename().string();
  }
  /// Cases of equal name and stamp are the same.
  std::string stamp(std::size_t i) const {
    return folders_.empty() ? kernel_hash(kernel_file(drawn_[i].run.kernel))
                            : stamp_of(folders_[i]);
  }

  JudgedKernel judge(std::size_t i) const {
    JudgedKernel judged;
    judged.name = name(i);
    judged.judging = Judging().under(chosen_);
    try {
      if (folders_.empty()) {
        judged.kernel = drawn_[i].run.kernel;
        ask(kernel_file(judged.kernel), drawn_[i].run.inputs, judged);
        return judged;
      }
      std::vector<HostArray> inputs;
      KernelToJudge file;
      judged.verdict = within([&] {  // including reading
        file = read_kernel((folders_[i] / "kernel.json").string());
        judged.kernel = file.ast;
        judged.judging = file.judging.under(chosen_);
        if (options_.all_elements) judged.judging.sampling = Sampling::all();
        require_feasible(file, options_.verdict, judged.judging.sampling,
                         "--verdict-timeout, --verdict-memory");
        inputs = read_arrays(file, input_paths(folders_[i], file), 1);
        if (backend_ != nullptr) return Verdict();
        return judge_arrays(file.ast, inputs,
                            read_arrays(file, {(folders_[i] / options_.output).string()}, 0)[0],
                            judged.judging);
      });
      if (backend_ != nullptr && judged.verdict.outcome != Outcome::Unusable)
        ask(file, inputs, judged);
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
      judged.verdict =
          within([&] { return judge_answer(file.ast, inputs, answer, judged.judging); });
  }

  Verdict within(const std::function<Verdict()>& judge) const {
    return judge_within(options_.verdict, judge, "--verdict-timeout");
  }

  const JudgeOptions& options_;
  foreign::BackendProcess* backend_;
  std::optional<ChosenProfile> chosen_;
  std::vector<fs::path> folders_;
  std::vector<fuzz::SuiteCase> drawn_;
};

JudgedLine line_of(const JudgedKernel& judged, bool with_json) {
  JudgedLine line{judged.name, std::nullopt, {}, {}, {}, {}};
  if (!judged.unsupported) {
    line.outcome = judged.verdict.outcome;
    line.text = judged.judging.str(judged.verdict);
    line.profile = judged.judging.profile.name;
    line.suspect = judged.verdict.suspect();
    if (judged.kernel) line.kernel = kernel_hash(kernel_file(judged.kernel));
    if (with_json) line.json = json_of(judged.verdict, judged.kernel, judged.judging, judged.name);
    return line;
  }
  const nlohmann::ordered_json object{
      {"case", judged.name}, {"verdict", nullptr}, {"unsupported", *judged.unsupported}};
  line.text = "unsupported: " + *judged.unsupported;
  line.json = ascii_json_line(object);
  return line;
}

// Identifies a run by everything its lines depend on, except the kernels.
std::string run_of(const JudgeOptions& o, const foreign::Capabilities* backend,
                   const Profile& profile) {
  using Json = nlohmann::ordered_json;
  Json run{{"touchstone_judge", TOUCHSTONE_VERSION}};
  if (backend != nullptr) run["backend"] = {{"name", backend->name}, {"version", backend->version}};
  run["profile"] = Json::parse(profile.to_json());
  if (o.folder.empty())
    run["suite"] = {{"suite", o.suite.suite},       {"ops", o.suite.ops},
                    {"kernels", o.suite.kernels},   {"dtypes", o.suite.dtypes},
                    {"elements", o.suite.elements}, {"seed", o.suite.seed}};
  else
    run["folder"] = {{"path", o.folder}, {"output", o.output}};
  if (o.folder.empty() && !o.suite.model.empty())
    run["suite"].update({{"model", o.suite.model}, {"backward", o.suite.backward}});
  return ascii_json_line(run);
}

// Prints lines as they arrive, and counts them.
class SuiteReport {
 public:
  SuiteReport(const JudgeOptions& options, std::size_t kernels, std::string on,
              const std::string& profile)
      : options_(options), kernels_(kernels), on_(std::move(on)) {
    if (!profile.empty()) profiles_.insert(profile);
  }

  void count(const JudgedLine& line) {
    ++done_;
    if (!line.outcome) {
      ++unsupported_;
      return;
    }
    profiles_.insert(line.profile);
    if (line.suspect) {  // neither PASS nor WEAK; never held back
      ++suspects_;
      return;
    }
    ++counts_[*line.outcome];
    const std::string kernel = kernel_of(line);
    if (*line.outcome == Outcome::Pass) sharp_.insert(kernel);
    if (*line.outcome == Outcome::Weak) ++weak_[kernel];
  }

  // Holds WEAK lines back until all inputs of the kernel are done, because one of them may be
  // sharp.
  void print(const JudgedLine& line) {
    if (options_.json) {
      fmt::print("{}\n", line.json);
    } else if (options_.all || line.suspect || (line.outcome && *line.outcome != Outcome::Pass)) {
      if (!options_.all && !line.suspect && *line.outcome == Outcome::Weak) {
        if (!held_.empty() && kernel_of(held_[0]) != kernel_of(line)) release();
        held_.push_back(line);
        return;
      }
      release();
      show(line);
    }
    std::fflush(stdout);
  }
  void release() {
    for (const JudgedLine& line : held_)
      if (!sharp_.contains(kernel_of(line))) show(line);
    held_.clear();
  }

  // Under --json, standard output carries objects only.
  void summarize() const {
    std::FILE* const to = options_.json ? stderr : stdout;
    const bool whole = done_ == kernels_;
    if (!whole)
      fmt::print(
          to, "ended after {} of {}{}\n", done_, counted(kernels_, "kernel"),
          options_.log.empty() || options_.log == "-" ? "" : "; --resume continues from the log");
    if (!options_.json) {
      std::vector<std::string> parts;
      for (const Outcome o : kOutcomes)
        parts.push_back(fmt::format("{} {}", count_of(o), coloured(o)));
      if (weak_beside() > 0)
        parts.push_back(fmt::format("{} weak on inputs beside sharp ones", weak_beside()));
      if (suspects_ > 0) parts.push_back(fmt::format("{} {}", suspects_, yellow("SUSPECT")));
      if (!on_.empty()) parts.push_back(fmt::format("{} unsupported", unsupported_));
      fmt::print(
          "{}{} under profile {}: {}\n", counted(done_, "kernel"), on_,
          profiles_.empty() ? Profile().name : fmt::format("{}", fmt::join(profiles_, " and ")),
          fmt::join(parts, ", "));
    }
    if (whole && judged() == 0)
      fmt::print(to, "nothing was checked: the backend supports none of the {}\n",
                 counted(kernels_, "kernel"));
  }

  int exit() const {
    for (const Outcome o : {Outcome::Fail, Outcome::Unusable})
      if (count_of(o) > 0) return exit_code(o);
    if (suspects_ > 0) return kExitSuspect;
    if (count_of(Outcome::Weak) > 0) return exit_code(Outcome::Weak);
    return judged() == 0 ? kExitNothing : kExitOk;
  }

 private:
  static void show(const JudgedLine& line) {
    fmt::print("{} {}\n", bold(visible(line.name)), visible(line.text));
  }
  // Ignores the inputs: the same kernel on other inputs is equal here.
  static std::string kernel_of(const JudgedLine& line) {
    return line.kernel.empty() ? line.name : line.kernel;
  }
  // WEAK on one input does not count if another input of the kernel is sharp, as in combine
  // (interp/oracle/verdict.h).
  std::size_t weak_beside() const {
    std::size_t count = 0;
    for (const auto& [kernel, times] : weak_)
      if (sharp_.contains(kernel)) count += times;
    return count;
  }
  std::size_t count_of(Outcome o) const {
    const auto at = counts_.find(o);
    const std::size_t count = at == counts_.end() ? 0 : at->second;
    return o == Outcome::Weak ? count - weak_beside() : count;
  }
  std::size_t judged() const { return done_ - unsupported_; }

  const JudgeOptions& options_;
  std::size_t kernels_, done_ = 0, unsupported_ = 0, suspects_ = 0;
  std::string on_;
  std::set<std::string> profiles_;
  std::map<Outcome, std::size_t> counts_;
  std::set<std::string> sharp_;              // kernels that passed on some input
  std::map<std::string, std::size_t> weak_;  // how often a kernel was WEAK
  std::vector<JudgedLine> held_;
};

// Suggests the next step after a suite: a campaign of drawn kernels on the same backend.
void print_campaign(const JudgeOptions& o) {
  const std::string backend = o.backend.command.empty() ? o.backend.plugin : o.backend.command;
  const std::string memory = o.backend.megabytes == BackendOptions().megabytes
                                 ? ""
                                 : fmt::format(" --memory {}", o.backend.megabytes);
  fmt::print("drawn kernels next: touchstone fuzz --area kernel --backend {} --time 5m{}\n",
             visible(quoted(backend)), memory);
}

void judge_all(const Cases& cases, JudgeLog& log, SuiteReport& report, OrderlyEnd& end,
               Progress& progress, bool with_json) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    progress.update(static_cast<std::int64_t>(i), cases.name(i));
    const std::string stamp = log ? cases.stamp(i) : "";
    const JudgedLine* const known = log.find(cases.name(i), stamp);
    const JudgedLine line = known != nullptr ? *known : line_of(cases.judge(i), with_json);
    if (OrderlyEnd::wanted()) return;  // an interrupted case has no verdict
    if (known == nullptr) log.add(stamp, line);
    end.change([&] { report.count(line); });
    progress.hide();
    report.print(line);
  }
  report.release();
}

}  // namespace

int run_judge(const JudgeOptions& options) {
  require_log_file(options.resume, options.log);
  const std::unique_ptr<DataOutput> data = log_output(options.log, options.json);
  std::unique_ptr<foreign::BackendProcess> backend;
  std::string on;  // which backend
  if (!options.backend.command.empty() || !options.backend.plugin.empty()) {
    backend = start_backend(options.backend);
    on = " on " + visible(backend->capabilities().name, 80);
  }
  if (!backend && options.folder.empty())
    throw ParseError(
        "nothing to judge: give a folder that emit wrote, or a --backend or a --plugin");
  const foreign::Capabilities* const declared = backend ? &backend->capabilities() : nullptr;
  const std::optional<ChosenProfile> chosen = chosen_profile(options.profile, declared);
  const Cases cases(options, backend.get(), chosen);
  const std::string run = run_of(options, declared, Judging().under(chosen).profile);
  JudgeLog log = data ? JudgeLog(data->fd(), run) : JudgeLog(options.log, run, options.resume);
  SuiteReport report(options, cases.size(), on, chosen ? chosen->profile.name : "");
  auto progress = std::make_unique<Progress>("judging", static_cast<std::int64_t>(cases.size()));
  OrderlyEnd end([&] {
    progress->hide();
    report.release();
    report.summarize();
  });
  try {
    judge_all(cases, log, report, end, *progress, options.json || log);
  } catch (const Interrupted&) {  // between kernels
  } catch (const SystemError&) {  // the log cannot be written; still reports the work done
    end.leave();
    throw;
  }
  end.leave();
  if (backend) print_starts(*backend, options.json ? stderr : stdout);
  if (backend && !options.json) print_campaign(options);
  return report.exit();
}

}  // namespace touchstone::cli
