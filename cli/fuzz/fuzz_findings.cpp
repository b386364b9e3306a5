#include "touchstone/cli/fuzz/fuzz_findings.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/file.h"
#include "touchstone/base/hash.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/private_folder.h"
#include "touchstone/base/visible.h"
#include "touchstone/cli/fuzz/fuzz_plans.h"
#include "touchstone/cli/program/installed.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/fuzz/engine/worker.h"
#include "touchstone/fuzz/judge/reproducer.h"
#include "touchstone/fuzz/shrink/finding_folder.h"

namespace touchstone::cli {
namespace {

namespace fs = std::filesystem;
using fuzz::AreaFinding;

constexpr std::size_t kMostShown = 400;  // characters of a case on the terminal

fs::path place_of(const FuzzOptions& o, const std::string& area, const AreaFinding& f) {
  const std::string name =
      f.index < 0 ? content_hash(f.shrunk).substr(0, 8) : std::to_string(f.index);
  return fs::path(o.findings) / (area + "-" + name);
}

// The command for the same area under the same conditions.
std::string same_again(const FuzzOptions& o, const std::string& area) {
  const std::string backend =
      area != "kernel" || o.backend == "tiers" ? "" : " --backend " + quoted(o.backend);
  const std::string plant = (o.plant == "none" ? "" : " --plant " + o.plant) +
                            (o.mutant.empty() ? "" : " --mutant " + o.mutant);
  return fmt::format("fuzz --area {}{}{}", area, backend, plant);
}

// The command that checks a case again; `word` is the case, or @FILE.
std::string again(const FuzzOptions& o, const std::string& area, const std::string& word) {
  return fmt::format("{} --case {}", same_again(o, area), word);
}

// The backend whose answer is illegal, starting with the one that runs every case.
fuzz::KernelBackend* culprit(fuzz::KernelBackends& backends, const fuzz::KernelCase& c) {
  std::vector<fuzz::KernelBackend*> all{backends.candidate.get()};
  for (const auto& v : backends.variants) all.push_back(v.get());
  if (backends.slow) all.push_back(backends.slow.get());
  for (fuzz::KernelBackend* b : all) {
    const foreign::Answer answer = b->run(c);
    if (answer.kind != foreign::Answer::Kind::Output) continue;
    if (judge(fuzz::Reproducer{c, answer.output, {}}, b->profile(c.kernel)).outcome ==
        Outcome::Fail)
      return b;
  }
  return all[0];
}

// Writes a failing kernel's folder, in a separate process because it may crash. False if its text
// does not parse, which may be the fault itself.
bool write_folder(const FuzzOptions& o, const AreaFinding& f, const fs::path& folder,
                  bool hurried) {
  fuzz::KernelCase c;
  try {
    c = fuzz::case_from_json(f.shrunk);
  } catch (const Error&) {
    return false;
  }
  const std::string command =
      "\"${TOUCHSTONE:-touchstone}\" " + again(o, "kernel", "@\"$(dirname \"$0\")/case.txt\"");
  write_finding_folder(folder, c, f.failure, command, nullptr);
  if (hurried) return true;  // no time for another run
  std::string ended;
  const auto work = [&] {
    fuzz::KernelBackends backends = kernel_backends(o);
    write_finding_folder(folder, c, f.failure, command, culprit(backends, c));
    return std::string();
  };
  try {
    if (!fuzz::in_child(work, 2 * o.case_seconds + 60, 0, ended))
      write_file_atomically(folder / "ended.txt", ended + "\n");
  } catch (const Interrupted&) {
    // An incomplete folder still helps: the missing part shows the culprit.
  }
  return true;
}

// Whether the answer in a file, if present, is illegal by itself; some relations fail with a legal
// answer.
bool is_illegal(const fs::path& file) {
  if (!fs::exists(file)) return false;
  try {
    return judge(fuzz::reproducer_from_json(read_file(file))).outcome == Outcome::Fail;
  } catch (const Error&) {
    return false;
  }
}

// Writes a finding's files; returns the reason on failure, such as a full disk.
std::string keep(const FuzzOptions& o, const std::string& area, const AreaFinding& f, bool hurried,
                 std::string& word) {
  try {
    if (area == "kernel" && write_folder(o, f, place_of(o, area, f), hurried)) {
      const fs::path folder = place_of(o, area, f);
      word = "@" + quoted((folder / "case.txt").string());
      fmt::print("  all of it: {}\n", folder.string());
      if (!f.unsteady && is_illegal(folder / "reproducer.json"))
        fmt::print("  judge it again: touchstone check {}\n",
                   quoted((folder / "reproducer.json").string()));
    } else if (f.shrunk.size() > kMostShown) {
      make_own_folder(o.findings);
      const fs::path file = place_of(o, area, f).string() + ".case";
      write_file_atomically(file, f.shrunk + "\n");
      word = "@" + quoted(file.string());
    }
  } catch (const SystemError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

void show_finding(const FuzzOptions& o, const std::string& area, const AreaFinding& f,
                  bool hurried) {
  fmt::print("{} {}: {}", red("FAIL"), area, visible(f.failure.relation));
  if (f.index >= 0) fmt::print(", case {}", f.index);
  if (f.runs > 0) fmt::print(", shrunk in {}", counted(f.runs, "run"));
  if (f.times > 1) fmt::print(", found {}", counted(f.times, "time"));
  fmt::print("\n");
  if (f.shrunk.size() <= kMostShown) fmt::print("  {}\n", f.shrunk);
  std::string detail = f.failure.detail;
  for (std::size_t at = 0; (at = detail.find('\n', at)) != detail.npos; at += 3)
    if (at + 1 < detail.size()) detail.replace(at, 1, "\n  ");
  fmt::print("  {}\n", visible_lines(detail));
  std::string word = quoted(f.shrunk);
  const bool as_given = o.one && f.runs == 0 && f.index < 0;
  if (as_given) {
    word = o.one->starts_with('@') ? "@" + quoted(o.one->substr(1)) : quoted(*o.one);
  } else if (const std::string why = keep(o, area, f, hurried, word); !why.empty()) {
    fmt::print("  not written to a file: {}\n", why);
    if (f.shrunk.size() > kMostShown) fmt::print("  {}\n", f.shrunk);
  }
  if (f.only_drawn) {
    fmt::print("  its text parses as a case that passes; as drawn it fails\n");
    word = quoted(fuzz::drawn_case(o.seed, f.index));
  }
  if (f.unsteady) fmt::print("  it passes when checked again: the result is not reproducible\n");
  fmt::print("  again: touchstone {}\n", again(o, area, word));
}

void show_unshrunk(const FuzzOptions& o, const std::string& area,
                   std::span<const AreaFinding> findings) {
  if (findings.empty()) return;
  // One line each, in a file that --corpus accepts.
  const fs::path file = fs::path(o.findings) / (area + "-unshrunk.txt");
  std::string lines;
  for (const AreaFinding& f : findings)
    lines += fmt::format("# {}, seed {}, case {}\n{}\n", visible(f.failure.relation), o.seed,
                         f.index, f.only_drawn ? fuzz::drawn_case(o.seed, f.index) : f.text);
  fmt::print("{} more, not shrunk", findings.size());
  try {
    make_own_folder(o.findings);
    write_file_atomically(file, lines);
    fmt::print(": {}\n  again: touchstone {} --corpus {} --cases 1\n", file.string(),
               same_again(o, area), quoted(o.findings));
  } catch (const SystemError& e) {
    fmt::print(", and not written to a file: {}\n{}", e.what(), lines);
  }
}

namespace {

using SummaryJson = nlohmann::ordered_json;

SummaryJson json_of_finding(const fuzz::AreaFinding& f) {
  return {{"index", f.index},
          {"relation", f.failure.relation},
          {"detail", f.failure.detail},
          {"case", f.shrunk},
          {"only_drawn", f.only_drawn},
          {"unsteady", f.unsteady},
          {"runs", f.runs},
          {"times", f.times}};
}

SummaryJson json_of_area(const FuzzOptions& o, const fuzz::AreaResult& r) {
  const fuzz::Tally& t = r.tally;
  SummaryJson area = {{"area", r.name}};
  if (r.name == "kernel") area["backend"] = o.backend;
  area.update({{"cases", t.cases},
               {"pass", t.passed},
               {"weak", t.weak},
               {"skipped", t.skipped},
               {"fail", t.failed},
               {"seconds", r.seconds},
               {"findings", SummaryJson::array()},
               {"unshrunk", r.unshrunk},
               {"passed_over", r.passed_over}});
  for (const fuzz::AreaFinding& f : r.findings) area["findings"].push_back(json_of_finding(f));
  return area;
}

}  // namespace

std::string fuzz_summary_json(const FuzzOptions& options, const CorpusCount& corpus,
                              const fuzz::RunResult& result) {
  SummaryJson out = {{"seed", options.seed}, {"areas", SummaryJson::array()}};
  for (const fuzz::AreaResult& r : result.areas) out["areas"].push_back(json_of_area(options, r));
  if (!options.corpus.empty())
    out["corpus"] = {{"cases", corpus.cases}, {"fail", corpus.failed}, {"damaged", corpus.damaged}};
  out["ended_early"] = result.ended_early;
  if (!result.trouble.empty()) out["trouble"] = result.trouble;
  return out.dump(-1, ' ', true, SummaryJson::error_handler_t::replace) + "\n";
}

}  // namespace touchstone::cli
