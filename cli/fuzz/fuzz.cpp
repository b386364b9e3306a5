#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "touchstone/base/file.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/mutant.h"
#include "touchstone/base/private_folder.h"
#include "touchstone/cli/fuzz/fuzz_findings.h"
#include "touchstone/cli/fuzz/fuzz_plans.h"
#include "touchstone/cli/indices/index_stats.h"
#include "touchstone/cli/program/data_output.h"
#include "touchstone/cli/program/orderly_end.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/device/config.h"
#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/fuzz/engine/corpus.h"
#include "touchstone/fuzz/engine/coverage.h"
#include "touchstone/fuzz/engine/worker.h"
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

// On this thread, which blocks the signal.
void raise_unblocked(int signal) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::signal(signal, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
}

// Runs in the thread that waits for signals.
void end_fuzzing(int signal) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t at = now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
  stopped_by = signal;
  if (!stop_wanted.exchange(true)) {
    Interrupt::request();  // interrupts work on a single case
    stopped_at = at;
    return;
  }
  // One request may arrive twice: timeout(1) signals the process and its group.
  if (at - stopped_at < 500) return;
  raise_unblocked(signal);  // requested twice
}

// Ctrl-C and a job scheduler's signals end the campaign, not the process.
void stop_on_signals() {
  hand_signals_to(end_fuzzing);
  ::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit becomes a write error
}

// Tidies up, then ends by the signal, as its sender expects.
void end_by_signal() {
  if (stopped_by == 0) return;
  std::fflush(stdout);
  remove_temporary_directories();
  raise_unblocked(stopped_by);
}

double parse_seconds(const std::string& text) {
  if (text.empty()) return 0;
  double n = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, n);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const double scale = unit == "h" ? 3600 : unit == "m" || unit == "min" ? 60 : 1;
  if (error != std::errc() || n <= 0 || n > 1e7 || (scale == 1 && !unit.empty() && unit != "s"))
    throw ParseError(fmt::format("--time '{}': write a duration as 60s, 5m or 2h", text));
  return n * scale;
}

// Whether the log is a file that a campaign can resume from.
bool has_log_file(const FuzzOptions& o) { return !o.log.empty() && o.log != "-"; }

// Data goes to standard output, text for people to standard error.
std::unique_ptr<DataOutput> data_output(const FuzzOptions& o) {
  const bool lines = o.json || o.log == "-", page = o.coverage == "-";
  if (lines && page)
    throw ParseError(
        "both --coverage - and JSON write to standard output; give a file name for one of them");
  return data_output_if(lines || page);
}

fuzz::RunOptions run_options(const FuzzOptions& o, const std::unique_ptr<DataOutput>& data) {
  if (o.findings == "-" || o.corpus == "-")
    throw ParseError("--findings and --corpus are folders, not standard output; give a folder");
  fuzz::RunOptions run;
  run.seed = o.seed;
  run.seconds = parse_seconds(o.time);
  run.cases = o.cases > 0 ? o.cases : run.seconds > 0 ? std::int64_t{1} << 40 : 1000;
  run.jobs =
      o.jobs > 0 ? o.jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  take_shard(o.shard, run);
  run.case_seconds = o.case_seconds;
  run.memory = static_cast<std::uint64_t>(o.megabytes.value_or(0)) << 20;
  if (has_log_file(o))
    run.log = o.shard == "job" ? log_of_shard(o.log, run.shard, run.shards) : fs::path(o.log);
  if (o.gather > 0 && (!has_log_file(o) || o.cases == 0 || !o.shard.empty()))
    throw ParseError(
        "--gather needs the --log and the --cases of the shards, and reads all of them: omit "
        "--shard");
  if (o.log == "-") run.log_file = data->fd();
  run.resume = o.resume;
  if (o.resume && !has_log_file(o))
    throw ParseError("--resume needs --log FILE, the log of the campaign to continue");
  run.coverage = !o.coverage.empty();
  return run;
}

Checked checked(const AreaPlan& plan, const std::string& text) {
  const std::unique_ptr<fuzz::Area> area = plan.make(0);
  return area->check(text_of_case(*area, text), fuzz::Effort::Full);
}

// Checks a case in its own process: a crash or a hang is a finding.
Checked checked_apart(const AreaPlan& plan, const std::string& text, double seconds,
                      std::uint64_t memory) {
  return fuzz::checked_in_child([&] { return checked(plan, text); }, seconds, memory);
}

int one_case(const FuzzOptions& o, const AreaPlan& plan) {
  std::string text = *o.one;
  if (text.starts_with('@')) {
    text = read_file(text.substr(1));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  }
  const auto apart = [&](const std::string& text) {
    constexpr double kAllRelations = 10;  // cost, as a multiple of a sampled check
    return checked_apart(plan, text, kAllRelations * o.case_seconds,
                         static_cast<std::uint64_t>(o.megabytes.value_or(0)) << 20);
  };
  const Checked c = apart(text);
  if (c.ending != Ending::Fail) {
    fmt::print("{} {}\n", green(name(c.ending)), plan.name);
    return c.ending == Ending::Pass ? kExitOk : c.ending == Ending::Weak ? kExitWeak : kExitNothing;
  }
  AreaFinding f{-1, text, c.failure, text};
  if (o.shrink && !text.starts_with('#')) {
    const std::unique_ptr<fuzz::Area> area = plan.make(0);
    const bool ends = c.failure.relation == "crash" || c.failure.relation == "hang";
    const auto fails = [&](const std::string& smaller) {
      try {
        const Checked now = ends ? apart(smaller) : area->check_for(smaller, c.failure.relation);
        if (now.ending != Ending::Fail || now.failure.relation != c.failure.relation) return false;
        f.failure = now.failure;
        return true;
      } catch (const ParseError&) {
        return false;
      }
    };
    const fuzz::ShrunkCase s = shrink_case(*area, text, fails, plan.most_shrink_runs);
    f.shrunk = s.text;
    f.runs = s.runs;
  }
  show_finding(o, plan.name, f, stop_wanted);
  return kExitNo;
}

// Checks every corpus case in its own process.
CorpusCount replay(const FuzzOptions& o, const std::vector<AreaPlan>& plans) {
  CorpusCount count;
  if (!fs::exists(o.corpus)) return count;  // created when there is a case to add
  for (const fuzz::CorpusCase& c : fuzz::read_corpus(o.corpus)) {
    if (stop_wanted) break;
    const auto plan = std::ranges::find(plans, c.area, &AreaPlan::name);
    if (plan == plans.end()) continue;
    Checked result;
    try {
      result = checked_apart(*plan, c.text, o.case_seconds, 0);
      ++count.cases;
    } catch (const Interrupted&) {
      break;
    } catch (const ParseError& e) {
      ++count.cases;
      ++count.damaged;
      fmt::print(stderr, "touchstone: {}: not a case of area '{}': {}\n", c.where, c.area,
                 e.what());
      continue;
    }
    if (result.ending != Ending::Fail) continue;
    ++count.failed;
    const AreaFinding f{-1, c.text, result.failure, c.text};
    fmt::print("{}: ", c.where);
    show_finding(o, c.area, f, stop_wanted);
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
    show_finding(o, r.name, f, stop_wanted);
    if (o.corpus.empty() || f.shrunk.starts_with('#')) continue;
    try {
      fuzz::add_to_corpus(o.corpus, r.name, f.shrunk,
                          fmt::format("{}, seed {}, case {}", f.failure.relation, o.seed, f.index));
    } catch (const SystemError& e) {
      fmt::print("  not added to the corpus: {}\n", e.what());
    }
  }
  show_unshrunk(
      o, r.name,
      std::span(r.findings)
          .last(std::min<std::size_t>(r.findings.size(), static_cast<std::size_t>(r.unshrunk))));
  if (!r.passed_over.empty()) {
    std::string parts;
    for (const auto& [relation, times] : r.passed_over)
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", relation, times);
    fmt::print("  checks that did not apply: {}\n", parts);
  }
}

// As judge and league: the backend's start-up cost, if it was slow or restarted.
void print_backend_starts() {
  constexpr double kSlow = 5;  // seconds
  const fuzz::SharedStarts& starts = *backend_starts();
  if (starts.anew() == 0 && starts.seconds() < kSlow) return;
  fmt::print("backend: started {}, {} of them after an invalid answer, in {} in all\n",
             counted(starts.times(), "time"), starts.anew(), seconds_str(starts.seconds()));
}

// Reports each area whose cases were all skipped; true if that is every area.
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
  const std::string page = coverage_html(pages, fmt::format("Coverage of seed {}", o.seed));
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
  ::setenv("TMPDIR", scratch.path().c_str(), 1);  // also collects files of killed workers
  const std::vector<AreaPlan> plans = fuzz_plans(o);
  if (o.one) {
    if (plans.size() != 1) throw ParseError("--case needs one area: name it with --area");
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
    const auto run = [&](const fuzz::RunProgress& told) {
      return o.gather > 0 ? gather_shards(plans, options, o.gather, stop_wanted, told)
                          : run_areas(plans, options, stop_wanted, told);
    };
    result = run([&](const std::string& area, const fuzz::Tally& t, double seconds) {
      if (area != std::exchange(shown, area)) {
        progress.reset();
        const bool timed = options.cases == std::int64_t{1} << 40;
        progress = std::make_unique<Progress>(
            area, timed ? static_cast<std::int64_t>(options.seconds) : mine);
      }
      const bool timed = options.cases == std::int64_t{1} << 40;
      progress->update(timed ? static_cast<std::int64_t>(seconds) : t.cases,
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
    fmt::print("ended early{}\n", has_log_file(o) ? "; --resume continues from the log" : "");
  if (o.json) data->write(fuzz_summary_json(o, corpus, result));
  end_by_signal();
  if (!result.trouble.empty()) throw SystemError(result.trouble);
  if (failed) return kExitNo;
  if (!result.ended_early && corpus.cases == 0 && nothing_checked(result)) return kExitNothing;
  return result.ended_early || corpus.damaged > 0 ? kExitBad : kExitOk;
}

}  // namespace touchstone::cli
