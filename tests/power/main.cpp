#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "experiment.h"
#include "suspects.h"
#include "touchstone/base/error.h"

// The power of the oracle's verdicts: planted faults caught and legal results refused, beside
// tolerance checks on the same inputs. Deterministic for a seed.

namespace touchstone::power {
namespace {

struct Tally {
  int kernels = 0, caught = 0, numpy = 0, torch = 0, loose = 0, torch_random = 0, worst = 0;
  void add(const Trial& t) {
    ++kernels;
    caught += t.caught_by != 0 && t.caught_by <= kDraws ? 1 : 0;
    numpy += t.numpy ? 1 : 0;
    torch += t.torch ? 1 : 0;
    loose += t.loose ? 1 : 0;
    torch_random += t.torch_random ? 1 : 0;
    worst = std::max(worst, t.caught_by == 0 ? kInputs + 1 : t.caught_by);
  }
};

std::string share(int part, int whole) {
  if (part == whole) return "all";
  // Never rounds to all or none.
  return fmt::format("{:.1f} %",
                     std::min(std::max(100.0 * part / whole, part == 0 ? 0 : 0.1), 99.9));
}

void print_header(const char* first) {
  fmt::print(
      "| {} | kernels | caught | by input | numpy | torch | 1e-3/1e-6 | torch, random inputs |\n",
      first);
  fmt::print("|---|---:|---:|---:|---:|---:|---:|---:|\n");
}
void print_row(std::string_view what, const Tally& t) {
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} |\n", what, t.kernels,
             share(t.caught, t.kernels), t.worst > kInputs ? "-" : std::to_string(t.worst),
             share(t.numpy, t.kernels), share(t.torch, t.kernels), share(t.loose, t.kernels),
             share(t.torch_random, t.kernels));
}

struct Options {
  std::vector<std::int64_t> sizes{15, 255, 4095, 65535};
  int every = 1;  // use one subject of this many
  std::uint64_t seed = 1;
  unsigned threads = 1;
  bool misses = false;
  std::int64_t count = 1'000'000;
  std::int64_t terms = 4096;
  bool thorough = false;
  int repeats = 20;
};

std::vector<std::vector<Trial>> try_subjects(const std::vector<Subject>& subjects,
                                             const Options& options) {
  std::vector<std::vector<Trial>> trials(subjects.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::string error;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < subjects.size(); i = next++)
        if (i % static_cast<std::size_t>(options.every) == 0)
          trials[i] = try_all(subjects[i], options.seed);
    } catch (const std::exception& e) {
      const std::scoped_lock lock(mutex);
      error = e.what();
      next = subjects.size();
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  threads.clear();
  if (!error.empty()) throw Error(error);
  return trials;
}

int run_bugs(const Options& options) {
  const std::vector<Subject> subjects = all_subjects(options.sizes);
  const auto trials = try_subjects(subjects, options);
  std::map<Bug, Tally> by_bug;
  std::map<DType, Tally> by_dtype;
  std::map<std::int64_t, Tally> by_size;
  Tally all;
  for (const std::vector<Trial>& of_subject : trials)
    for (const Trial& t : of_subject) {
      by_bug[t.bug->bug].add(t);
      by_dtype[t.subject->dtype].add(t);
      by_size[t.subject->size].add(t);
      all.add(t);
      if (options.misses && (t.caught_by == 0 || t.caught_by > kDraws))
        fmt::print("missed: {}: {} (input {})\n", t.subject->str(), t.bug->what, t.caught_by);
    }
  print_header("fault");
  for (const BugInfo& bug : bug_table())
    if (by_bug[bug.bug].kernels != 0) print_row(bug.what, by_bug[bug.bug]);
  print_row("**all**", all);
  fmt::print("\n");
  print_header("operands");
  for (const auto& [dtype, tally] : by_dtype) print_row(name(dtype), tally);
  for (const auto& [size, tally] : by_size)
    print_row(fmt::format("{} elements or terms", size), tally);
  return all.caught == all.kernels ? 0 : 1;
}

// Fewer long sums, because they take longer.
double weight(std::int64_t terms) { return std::pow(static_cast<double>(terms), -0.6); }

int run_legal(const Options& options) {
  const DType kFloats[] = {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64};
  VariantCount all;
  fmt::print(
      "| terms | variants | called illegal | refused by torch's tolerance "
      "|\n|---:|---:|---:|---:|\n");
  for (const std::int64_t size : options.sizes) {
    VariantCount of_size;
    double weights = 0;
    for (const std::int64_t s : options.sizes) weights += weight(s);
    const auto count = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(options.count) * weight(size) / weights / 4));
    for (const DType d : kFloats) {
      const VariantCount c = run_variants(d, size, count, options.seed);
      of_size.variants += c.variants;
      of_size.alarms += c.alarms;
      of_size.torch_alarms += c.torch_alarms;
      for (const std::string& line : c.first_alarms) fmt::print("{}\n", line);
    }
    fmt::print("| {} | {} | {} | {} |\n", size, of_size.variants, of_size.alarms,
               of_size.torch_alarms);
    all.variants += of_size.variants;
    all.alarms += of_size.alarms;
    all.torch_alarms += of_size.torch_alarms;
  }
  fmt::print("| all | {} | {} | {} |\n", all.variants, all.alarms, all.torch_alarms);
  return all.alarms == 0 ? 0 : 1;
}

int run_suspects(const Options& options) {
  const std::int64_t each = options.count / options.threads;
  std::vector<SuspectCount> parts(options.threads);
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < options.threads; ++i)
      threads.emplace_back([&, i] {
        parts[i] =
            run_legal_suspects(each, options.terms, options.seed + 7919 * i, options.thorough);
      });
  }
  SuspectCount all;
  for (const SuspectCount& part : parts) {
    all.runs += part.runs;
    all.tests += part.tests;
    all.illegal += part.illegal;
    all.suspects += part.suspects;
    all.least_log_p = std::min(all.least_log_p, part.least_log_p);
    for (const std::string& line : part.first) fmt::print("{}\n", line);
  }
  fmt::print(
      "{} legal runs looked at, {} tests, {} SUSPECT; least p 1e{:.1f}; {} truncating runs left "
      "out as illegal\n",
      all.runs, all.tests, all.suspects, all.least_log_p / std::log(10.0), all.illegal);
  return all.suspects == 0 ? 0 : 1;
}

int run_planted(const Options& options) {
  int missed = 0;
  for (const PlantedFault& f : run_planted_suspects(32, options.terms, 32, options.seed)) {
    const bool right = f.caught == (f.fault != "none");
    missed += right ? 0 : 1;
    if (options.misses && right) continue;
    fmt::print("{}{}, values {}, {}: {}\n", right ? "" : "missed: ", f.fault, f.values, f.device,
               f.said);
  }
  return missed == 0 ? 0 : 1;
}

int run_command(int argc, char** argv) {
  Options options;
  CLI::App app("What the oracle's verdicts are worth");
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--sizes", options.sizes, "elements, or terms a row")->delimiter(',');
  app.add_option("--seed", options.seed);
  CLI::App* bugs = app.add_subcommand("bugs", "planted faults; exit code 1 where one is missed");
  bugs->add_option("--every", options.every, "one kernel of so many")->check(CLI::PositiveNumber);
  bugs->add_option("--threads", options.threads)->check(CLI::PositiveNumber);
  bugs->add_flag("--misses", options.misses, "name each fault that three inputs do not show");
  CLI::App* legal = app.add_subcommand("legal", "legal variants; exit code 1 where one is refused");
  legal->add_option("--count", options.count)->check(CLI::PositiveNumber);
  CLI::App* suspects =
      app.add_subcommand("suspects", "legal runs; exit code 1 where one is SUSPECT");
  suspects->add_option("--count", options.count)->check(CLI::PositiveNumber);
  suspects->add_option("--threads", options.threads)->check(CLI::PositiveNumber);
  suspects->add_flag("--thorough", options.thorough, "look at more elements than a verdict does");
  suspects->add_option("--terms", options.terms, "the most of a sum")->check(CLI::PositiveNumber);
  CLI::App* planted = app.add_subcommand(
      "planted", "faults within the bounds of a 32x32 product; exit code 1 where one is missed");
  planted->add_option("--terms", options.terms, "of a sum")->check(CLI::PositiveNumber);
  planted->add_flag("--misses", options.misses, "only what is missed");
  CLI::App* ratio = app.add_subcommand(
      "ratio",
      "width of intervals by what orders reach; exit code 1 where one leaves its interval");
  ratio->add_option("--terms", options.terms, "of a sum")->check(CLI::PositiveNumber);
  CLI::App* cost = app.add_subcommand("cost", "seconds of looking at errors together");
  cost->add_option("--repeats", options.repeats)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  if (*suspects) return run_suspects(options);
  if (*ratio) {
    bool legal = true;
    fmt::print("| sum | width by sampled orders | by searched orders |\n|---|---:|---:|\n");
    for (const RatioOf& r : envelope_ratios(options.terms, options.seed)) {
      fmt::print("| {}{} | {:.1f} | {:.1f} |\n", r.legal ? "" : "ILLEGAL: ", r.what, r.sampled,
                 r.searched);
      legal = legal && r.legal;
    }
    return legal ? 0 : 1;
  }
  if (*cost) {
    for (const EvidenceCost& c : evidence_costs(options.repeats))
      fmt::print("{}: legal results {:.3f} ms, errors together {:.3f} ms ({:.0f} %)\n", c.kernel,
                 1e3 * c.legal, 1e3 * c.evidence, 100 * c.evidence / c.legal);
    return 0;
  }
  if (*planted) return run_planted(options);
  return *bugs ? run_bugs(options) : run_legal(options);
}

}  // namespace
}  // namespace touchstone::power

int main(int argc, char** argv) {
  try {
    return touchstone::power::run_command(argc, argv);
  } catch (const touchstone::Error& e) {
    fmt::print(stderr, "oracle_power: {}\n", e.what());
    return 2;
  }
}
