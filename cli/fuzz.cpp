#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "data_output.h"
#include "fuzz_plans.h"
#include "fuzz_summary.h"
#include "index_stats.h"
#include "installed.h"
#include "terminal.h"
#include "touchstone/base/file.h"
#include "touchstone/base/hash.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/mutant.h"
#include "touchstone/base/private_folder.h"
#include "touchstone/base/visible.h"
#include "touchstone/device/config.h"
#include "touchstone/fuzz/corpus.h"
#include "touchstone/fuzz/coverage.h"
#include "touchstone/fuzz/draw_kernel.h"
#include "touchstone/fuzz/finding_folder.h"
#include "touchstone/fuzz/reproducer.h"
#include "touchstone/fuzz/worker.h"
#include "touchstone/tcc/tcc_device.h"

namespace touchstone::cli {
namespace {

namespace fs = std::filesystem;
using fuzz::AreaFinding;
using fuzz::AreaPlan;
using fuzz::AreaResult;
using fuzz::Checked;
using fuzz::Ending;

std::atomic<bool> stop_wanted = false;
std::atomic<int> stopped_by = 0;
std::atomic<std::int64_t> stopped_at = 0;  // milliseconds

extern "C" void end_fuzzing(int signal) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t at = now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
  stopped_by = signal;
  if (!stop_wanted.exchange(true)) {
    Interrupt::request();  // of what waits for one case
    stopped_at = at;
    return;
  }
  // One wish may come twice: timeout(1) sends a signal to the process and to its group.
  if (at - stopped_at < 500) return;
  ::signal(signal, SIG_DFL);  // asked for twice
  ::raise(signal);
}

// Ctrl-C, and what a job scheduler sends, end the campaign and not the process.
void stop_on_signals() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action.sa_handler = end_fuzzing;
    ::sigaction(signal, &action, nullptr);
    sigaddset(&ending, signal);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
}

// Having tidied up, ends as whoever sent the signal expects.
void end_by_signal() {
  if (stopped_by == 0) return;
  std::fflush(stdout);
  remove_temporary_directories();
  ::signal(stopped_by, SIG_DFL);
  ::raise(stopped_by);
}

double parse_seconds(const std::string& text) {
  if (text.empty()) return 0;
  double n = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, n);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const double scale = unit == "h" ? 3600 : unit == "m" || unit == "min" ? 60 : 1;
  if (error != std::errc() || n <= 0 || n > 1e7 || (scale == 1 && !unit.empty() && unit != "s"))
    throw ParseError(fmt::format("--time takes 60s, 5m or 2h, not '{}'", text));
  return n * scale;
}

void parse_shard(const std::string& text, fuzz::RunOptions& run) {
  if (text.empty()) return;
  const std::size_t slash = text.find('/');
  const auto number = [&](std::string_view digits, std::int64_t& out) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  };
  if (slash == text.npos || !number(std::string_view(text).substr(0, slash), run.shard) ||
      !number(std::string_view(text).substr(slash + 1), run.shards) || run.shard < 0 ||
      run.shards < 1 || run.shard >= run.shards || run.shards > 1'000'000)
    throw ParseError(fmt::format("--shard takes W/N with 0 <= W < N, as 0/4, not '{}'", text));
}

// Whether the log is a file from which the campaign can go on.
bool has_log_file(const FuzzOptions& o) { return !o.log.empty() && o.log != "-"; }

// Data goes to standard output, text for people to standard error.
std::unique_ptr<DataOutput> data_output(const FuzzOptions& o) {
  const bool lines = o.json || o.log == "-", page = o.coverage == "-";
  if (lines && page)
    throw ParseError(
        "the page of --coverage is to be standard output, and so are lines of JSON; "
        "name a file for one of them");
  return data_output_if(lines || page);
}

fuzz::RunOptions run_options(const FuzzOptions& o, const std::unique_ptr<DataOutput>& data) {
  if (o.findings == "-" || o.corpus == "-")
    throw ParseError("--findings and --corpus are folders, which standard output is not");
  fuzz::RunOptions run;
  run.seed = o.seed;
  run.seconds = parse_seconds(o.time);
  run.cases = o.cases > 0 ? o.cases : run.seconds > 0 ? std::int64_t{1} << 40 : 1000;
  run.jobs =
      o.jobs > 0 ? o.jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  parse_shard(o.shard, run);
  run.case_seconds = o.case_seconds;
  run.memory = static_cast<std::uint64_t>(o.megabytes.value_or(0)) << 20;
  if (has_log_file(o)) run.log = o.log;
  if (o.log == "-") run.log_file = data->fd();
  run.resume = o.resume;
  if (o.resume && !has_log_file(o))
    throw ParseError("--resume needs the --log of the campaign, a file");
  run.coverage = !o.coverage.empty();
  return run;
}

constexpr std::size_t kMostShown = 400;  // characters of a case on the terminal

fs::path place_of(const FuzzOptions& o, const std::string& area, const AreaFinding& f) {
  const std::string name =
      f.index < 0 ? content_hash(f.shrunk).substr(0, 8) : std::to_string(f.index);
  return fs::path(o.findings) / (area + "-" + name);
}

// How a case is checked again; `word` is the case, or @FILE.
std::string again(const FuzzOptions& o, const std::string& area, const std::string& word) {
  const std::string backend =
      area != "kernel" || o.backend == "tiers" ? "" : " --backend " + quoted(o.backend);
  const std::string plant = (o.plant == "none" ? "" : " --plant " + o.plant) +
                            (o.mutant.empty() ? "" : " --mutant " + o.mutant);
  return fmt::format("fuzz --area {}{}{} --case {}", area, backend, plant, word);
}

// The backend that gives the answer which is not legal, first of all the one that runs every case.
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

// A kernel that fails, with all that belongs to it. It is run in a process of its own: it may
// crash. False where its text is none: that it does not read back may be what is wrong.
bool write_folder(const FuzzOptions& o, const AreaFinding& f, const fs::path& folder) {
  fuzz::KernelCase c;
  try {
    c = fuzz::case_from_json(f.shrunk);
  } catch (const Error&) {
    return false;
  }
  const std::string command =
      "\"${TOUCHSTONE:-touchstone}\" " + again(o, "kernel", "@\"$(dirname \"$0\")/case.txt\"");
  write_finding_folder(folder, c, f.failure, command, nullptr);
  if (stop_wanted) return true;  // nobody waits for another run
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
    // The folder is as good as it is: what is missing says who is to blame.
  }
  return true;
}

void show(const FuzzOptions& o, const std::string& area, const AreaFinding& f) {
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
  } else if (area == "kernel" && write_folder(o, f, place_of(o, area, f))) {
    const fs::path folder = place_of(o, area, f);
    word = "@" + quoted((folder / "case.txt").string());
    fmt::print("  all of it: {}\n", folder.string());
    if (fs::exists(folder / "reproducer.json"))
      fmt::print("  judge it again: touchstone check {}\n",
                 quoted((folder / "reproducer.json").string()));
  } else if (f.shrunk.size() > kMostShown) {
    make_own_folder(o.findings);
    const fs::path file = place_of(o, area, f).string() + ".case";
    write_file_atomically(file, f.shrunk + "\n");
    word = "@" + quoted(file.string());
  }
  fmt::print("  again: touchstone {}\n", again(o, area, word));
}

Checked checked(const AreaPlan& plan, const std::string& text) {
  return plan.make(0)->check(text, fuzz::Effort::Full);
}

int one_case(const FuzzOptions& o, const AreaPlan& plan) {
  std::string text = *o.one;
  if (text.starts_with('@')) {
    text = read_file(text.substr(1));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  }
  const Checked c = checked(plan, text);
  if (c.ending != Ending::Fail) {
    fmt::print("{} {}\n", green(name(c.ending)), plan.name);
    return c.ending == Ending::Pass ? kExitOk : c.ending == Ending::Weak ? kExitWeak : kExitNothing;
  }
  AreaFinding f{-1, text, c.failure, text};
  if (o.shrink) {
    const std::unique_ptr<fuzz::Area> area = plan.make(0);
    const fuzz::ShrunkCase s = shrink_case(*area, text, c.failure.relation, plan.most_shrink_runs);
    f.shrunk = s.text;
    f.runs = s.runs;
    f.failure = area->check(s.text, fuzz::Effort::Full).failure;
  }
  show(o, plan.name, f);
  return kExitNo;
}

// Every case of the corpus in a process of its own.
CorpusCount replay(const FuzzOptions& o, const std::vector<AreaPlan>& plans) {
  CorpusCount count;
  if (!fs::exists(o.corpus)) return count;  // it is made when there is something to add
  for (const fuzz::CorpusCase& c : fuzz::read_corpus(o.corpus)) {
    if (stop_wanted) break;
    const auto plan = std::ranges::find(plans, c.area, &AreaPlan::name);
    if (plan == plans.end()) continue;
    std::string ended;
    const auto work = [&] {
      try {
        const Checked result = checked(*plan, c.text);
        return result.ending == Ending::Fail
                   ? "F" + result.failure.relation + '\0' + result.failure.detail
                   : std::string("P");
      } catch (const ParseError& e) {
        return std::string("D") + e.what();
      }
    };
    std::optional<std::string> told;
    try {
      told = fuzz::in_child(work, o.case_seconds, 0, ended);
    } catch (const Interrupted&) {
      break;
    }
    ++count.cases;
    if (told && told->starts_with('P')) continue;
    if (told && told->starts_with('D')) {
      ++count.damaged;
      fmt::print(stderr, "touchstone: {}: not a case of '{}': {}\n", c.where, c.area,
                 told->substr(1));
      continue;
    }
    ++count.failed;
    AreaFinding f{-1, c.text, {"crash", ended}, c.text};
    if (told) {
      const std::size_t cut = told->find('\0');
      f.failure = {told->substr(1, cut - 1), told->substr(cut + 1)};
    } else if (ended == "hang") {
      f.failure.relation = "hang";
    }
    fmt::print("{}: ", c.where);
    show(o, c.area, f);
  }
  fmt::print("corpus {}: {}, {} FAIL, {} damaged\n", o.corpus, counted(count.cases, "case"),
             count.failed, count.damaged);
  return count;
}

void summarize(const FuzzOptions& o, const AreaResult& r) {
  const std::string tiers =
      has_tcc() ? "tcc, one in 64 on clang" : "clang (libtcc is not built in)";
  const std::string on =
      r.name != "kernel" ? "" : " on " + (o.backend == "tiers" ? tiers : o.backend);
  const fuzz::Tally& t = r.tally;
  fmt::print("{}{}: {}, {} PASS, {} WEAK, {} SKIPPED, {} FAIL (seed {}, {}, {} a second)\n", r.name,
             on, counted(t.cases, "case"), t.passed, t.weak, t.skipped, t.failed, o.seed,
             seconds_str(r.seconds),
             count_str(static_cast<double>(t.cases) / std::max(r.seconds, 1e-3)));
  std::int64_t most = std::ssize(r.findings) - r.unshrunk;
  for (const AreaFinding& f : r.findings) {
    if (most-- <= 0) break;
    show(o, r.name, f);
    if (!o.corpus.empty() && !f.shrunk.empty())
      fuzz::add_to_corpus(o.corpus, r.name, f.shrunk,
                          fmt::format("{}, seed {}, case {}", f.failure.relation, o.seed, f.index));
  }
  if (r.unshrunk > 0)
    fmt::print("{} more, not shrunk{}\n", r.unshrunk, o.log.empty() ? "" : ": in the log");
}

// As judge and league do: what starting a backend cost, where it was slow or was started anew.
void print_backend_starts() {
  constexpr double kSlow = 5;  // seconds
  const fuzz::SharedStarts& starts = *backend_starts();
  if (starts.anew() == 0 && starts.seconds() < kSlow) return;
  fmt::print("backend: started {}, {} of them after an answer that was none, in {} in all\n",
             counted(starts.times(), "time"), starts.anew(), seconds_str(starts.seconds()));
}

// Says so of each area of which every case was skipped; true where that is all of them.
bool nothing_checked(const fuzz::RunResult& result) {
  bool nothing = true;
  for (const AreaResult& r : result.areas) {
    const bool checked = r.tally.passed + r.tally.weak + r.tally.failed > 0;
    if (!checked)
      fmt::print("nothing was checked of {}: {} drawn, all SKIPPED\n", r.name,
                 counted(r.tally.cases, "case"));
    nothing = nothing && !checked;
  }
  return nothing;
}

void write_coverage(const FuzzOptions& o, const fuzz::RunResult& result,
                    const std::unique_ptr<DataOutput>& data) {
  std::vector<std::pair<std::string, const fuzz::Coverage*>> pages;
  for (const AreaResult& r : result.areas) {
    if (!r.coverage || r.coverage->dimensions().empty()) continue;
    fmt::print("{}", coverage_text(r.name, *r.coverage));
    pages.emplace_back(r.name, r.coverage.get());
  }
  const std::string page = coverage_html(pages, fmt::format("What seed {} reached", o.seed));
  if (o.coverage == "-") return data->write(page);
  write_file_atomically(o.coverage, page);
  fmt::print("coverage: {}\n", o.coverage);
}

}  // namespace

int run_fuzz(const FuzzOptions& o) {
  const ConfigScope scope(Config::from_environment());
  if (o.index_stats) {
    print_index_stats([&] {
      std::vector<LazyOpPtr> kernels;
      for (std::int64_t i = 0; i < (o.cases > 0 ? o.cases : 1000); ++i) {
        fuzz::RandomChooser chooser(o.seed, static_cast<std::uint64_t>(i));
        kernels.push_back(fuzz::draw_kernel_case(chooser).kernel);
      }
      return kernels;
    });
    return kExitOk;
  }
  parse_fault(o.plant);
  if (!o.mutant.empty()) select_mutant(o.mutant);
  const std::unique_ptr<DataOutput> data = data_output(o);
  const fuzz::RunOptions options = run_options(o, data);
  const TemporaryDirectory scratch("touchstone-fuzz");
  ::setenv("TMPDIR", scratch.path().c_str(), 1);  // files of killed workers go with it
  const std::vector<AreaPlan> plans = fuzz_plans(o);
  if (o.one) {
    if (plans.size() != 1) throw ParseError("--case is of one area: name it with --area");
    return one_case(o, plans[0]);
  }
  stop_on_signals();
  CorpusCount corpus;
  if (!o.corpus.empty()) corpus = replay(o, plans);
  fuzz::RunResult result;
  {
    std::unique_ptr<Progress> progress;
    std::string shown;
    const std::int64_t mine = (options.cases - options.shard + options.shards - 1) / options.shards;
    result = run_areas(plans, options, stop_wanted,
                       [&](const std::string& area, const fuzz::Tally& t, double seconds) {
                         if (area != std::exchange(shown, area)) {
                           progress.reset();
                           const bool timed = options.cases == std::int64_t{1} << 40;
                           progress = std::make_unique<Progress>(
                               area, timed ? static_cast<std::int64_t>(options.seconds) : mine);
                         }
                         const bool timed = options.cases == std::int64_t{1} << 40;
                         progress->update(
                             timed ? static_cast<std::int64_t>(seconds) : t.cases,
                             fmt::format("{}, {} FAIL", counted(t.cases, "case"), t.failed));
                       });
  }
  bool failed = corpus.failed > 0;
  for (const AreaResult& r : result.areas) {
    summarize(o, r);
    failed = failed || r.tally.failed > 0;
  }
  print_backend_starts();
  if (!o.coverage.empty()) write_coverage(o, result, data);
  if (result.ended_early)
    fmt::print("ended early{}\n", has_log_file(o) ? "; --resume goes on from the log" : "");
  if (o.json) data->write(fuzz_summary_json(o, corpus, result));
  end_by_signal();
  if (!result.trouble.empty()) throw SystemError(result.trouble);
  if (failed) return kExitNo;
  if (!result.ended_early && corpus.cases == 0 && nothing_checked(result)) return kExitNothing;
  return result.ended_early || corpus.damaged > 0 ? kExitBad : kExitOk;
}

}  // namespace touchstone::cli
