#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

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

Verdict judge_folder(const fs::path& folder, const std::string& output, const Profile& profile,
                     LazyOpPtr& kernel) {
  try {
    const KernelFile file = read_kernel((folder / "kernel.json").string());
    kernel = file.ast;
    std::vector<std::string> inputs;
    for (const BufferSpec& spec : file.buffers)
      if (spec.idx > 0) inputs.push_back((folder / fmt::format("in{}.npy", spec.idx)).string());
    return judge_files(file, inputs, (folder / output).string(), profile);
  } catch (const Error& e) {
    Verdict unusable;
    unusable.outcome = Outcome::Unusable;
    unusable.why = e.what();
    return unusable;
  }
}

std::string coloured(Outcome outcome) {
  const std::string text(name(outcome));
  return outcome == Outcome::Pass   ? green(text)
         : outcome == Outcome::Fail ? red(text)
                                    : yellow(text);
}

}  // namespace

int run_judge(const JudgeOptions& options) {
  register_interpreted_device();
  const Profile profile = read_profile(options.profile);
  const std::vector<fs::path> folders = cases_in(options.folder);
  std::map<Outcome, int> counts;
  std::vector<std::string> lines;
  {
    Progress progress("judging", static_cast<std::int64_t>(folders.size()));
    for (const fs::path& folder : folders) {
      LazyOpPtr kernel;
      const Verdict verdict = judge_folder(folder, options.output, profile, kernel);
      ++counts[verdict.outcome];
      const std::string name = folder.filename().string();
      if (options.json)
        lines.push_back(json_of(verdict, kernel, profile, name));
      else if (verdict.outcome != Outcome::Pass || options.all)
        lines.push_back(fmt::format("{} {}", bold(name), verdict.str()));
      progress.update(static_cast<std::int64_t>(&folder - folders.data()) + 1);
    }
  }
  for (const std::string& line : lines) fmt::print("{}\n", line);
  if (!options.json) {
    std::vector<std::string> parts;
    for (const Outcome o : {Outcome::Pass, Outcome::Weak, Outcome::Fail, Outcome::Unusable})
      parts.push_back(fmt::format("{} {}", counts[o], coloured(o)));
    fmt::print("{} kernels under profile {}: {}\n", folders.size(), profile.name,
               fmt::join(parts, ", "));
  }
  for (const Outcome o : {Outcome::Fail, Outcome::Unusable, Outcome::Weak})
    if (counts[o] > 0) return exit_code(o);
  return kExitOk;
}

}  // namespace touchstone::cli
