#include "touchstone/search/beam.h"

#include <algorithm>
#include <charconv>

#include "touchstone/clang/clang_device.h"
#include "touchstone/ops/index_fault.h"
#include "touchstone/process/run.h"
#include "touchstone/search/first_run.h"
#include "touchstone/search/times.h"

namespace touchstone {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatch = 12;  // candidates per child and compiler run
constexpr double kTimed = 0.02;     // seconds per candidate
constexpr int kMostRuns = 200;
constexpr double kWorthwhile = 0.97;                   // of the best time: smaller gains are noise
constexpr std::chrono::milliseconds kMostTime{60000};  // per batch

class Search {
 public:
  Search(const LazyOpPtr& kernel, const ClangOptions& clang, const BeamOptions& options)
      : kernel_(kernel),
        clang_(clang),
        codegen_(for_this_machine(clang)),
        options_(options),
        first_(kernel, clang_),
        times_(kernel, clang_) {}

  BeamResult run() {
    const Opts usual = hand_coded_optimizations(kernel_, codegen_);
    Opts plain;  // no opts except Sums, whose order is fixed
    if (const Opt* const sums = find(usual, OptKind::Sums)) plain.push_back(*sums);
    measure({usual, plain}, 0);
    result_.hand_coded = time_of(usual);
    std::vector<Opts> beam{usual, plain};
    for (int round = 1; round <= options_.rounds && has_time(); ++round) {
      const double before = best().second;
      std::vector<Opts> next;
      for (const Opts& opts : beam)
        for (Opts& other : neighbours(kernel_, opts, codegen_))
          if (std::ranges::find(next, other) == next.end()) next.push_back(std::move(other));
      measure(next, round);
      next.insert(next.end(), beam.begin(), beam.end());
      std::ranges::sort(next, {}, [&](const Opts& o) { return std::pair(time_of(o), str(o)); });
      next.resize(std::min(next.size(), static_cast<std::size_t>(options_.width)));
      const bool same = next == beam;
      beam = std::move(next);
      if (same || best().second > before * kWorthwhile) break;
    }
    if (result_.tried > 0) time_again(usual);
    result_.hand_coded = time_of(usual);
    result_.opts = usual;
    result_.seconds = result_.hand_coded;
    if (best().second < result_.hand_coded * kWorthwhile) {
      result_.opts = parse_opts(best().first);
      result_.seconds = best().second;
    }
    if (options_.progress)
      options_.progress(
          {options_.rounds, result_.tried, result_.tried, result_.seconds, result_.hand_coded});
    return result_;
  }

 private:
  bool has_time() const {
    return options_.seconds == 0 ||
           std::chrono::duration<double>(Clock::now() - begin_).count() < options_.seconds;
  }

  // Repeats measurements: a list may have been slow once because of other load.
  void time_again(const Opts& usual) {
    const std::vector<Opts> both{usual, parse_opts(best().first)};
    if (time_of(usual) == search::Times::kNever || both[0] == both[1]) return;
    batch(both);
    times_.keep();
  }

  double time_of(const Opts& opts) const { return times_.of(str(opts)); }
  std::pair<std::string, double> best() const { return times_.best(); }

  void measure(const std::vector<Opts>& lists, int round) {
    std::vector<Opts> fresh;
    std::ranges::copy_if(lists, std::back_inserter(fresh),
                         [&](const Opts& o) { return !times_.knows(str(o)); });
    const std::size_t before = result_.tried;
    for (std::size_t i = 0; i < fresh.size() && (round == 0 || has_time()); i += kBatch) {
      if (options_.progress)
        options_.progress({round, result_.tried, before + fresh.size(),
                           round == 0 ? 0 : best().second, result_.hand_coded});
      const std::size_t size = std::min(kBatch, fresh.size() - i);
      batch(std::span(fresh).subspan(i, size));
      result_.tried += size;
      times_.keep();
    }
  }

  // If a batch crashes or hangs, its candidates are tried one by one to find the culprit.
  void batch(std::span<const Opts> lists) {
    const process::Finished child = process::run_function(
        [&] { return timed(lists); }, {.time = kMostTime, .output = 1 << 20, .refused = {}});
    if (child.ending.status == 0) return read(child.output, lists);
    if (child.ending.exit_code() == 1 && !child.errors.empty()) throw SystemError(child.errors);
    if (lists.size() > 1) {
      for (std::size_t i = 0; i < lists.size(); ++i) batch(lists.subspan(i, 1));
      return;
    }
    result_.wrong.push_back(fmt::format("{}: {}", str(lists[0]), child.ending.text()));
    times_.add(str(lists[0]), search::Times::kNever);
  }

  void read(const std::string& lines, std::span<const Opts> lists) {
    const char* at = lines.data();
    const char* const end = at + lines.size();
    for (const Opts& opts : lists) {
      double seconds = 0;
      at = std::from_chars(at, end, seconds).ptr + 1;
      if (seconds == search::Times::kNever)
        result_.wrong.push_back(
            fmt::format("{}: its output differs from that of the hand-coded layout", str(opts)));
      times_.add(str(opts), std::min(seconds, times_.of(str(opts))));
    }
  }

  // In the child: the seconds per run of each list, one per line.
  std::string timed(std::span<const Opts> lists) const {
    ClangOptions here = clang_;
    here.codegen = codegen_;
    here.keep = false;
    here.beam = 0;
    const std::vector<RunnerPtr> runners = make_clang_runners(kernel_, lists, here);
    std::string lines;
    for (const RunnerPtr& runner : runners)
      lines += fmt::format(
          "{:.9g}\n", first_.gives_its_bits(*runner) ? seconds_of(*runner) : search::Times::kNever);
    return lines;
  }

  double seconds_of(Runner& runner) const {
    double least = search::Times::kNever, all = 0;
    for (int i = 0; i < kMostRuns && (all < kTimed || i < 3); ++i) {
      const double seconds = first_.run(runner);
      least = std::min(least, seconds);
      all += seconds;
    }
    return std::max(least, 1e-9);
  }

  const Clock::time_point begin_ = Clock::now();
  const LazyOpPtr& kernel_;
  const ClangOptions& clang_;
  const CodegenOptions codegen_;
  const BeamOptions& options_;
  search::FirstRun first_;
  search::Times times_;
  BeamResult result_;
};

}  // namespace

BeamResult search_opts(const LazyOpPtr& kernel, const ClangOptions& clang,
                       const BeamOptions& options) {
  const bool empty =
      std::ranges::any_of(kernel->shape(), [](const sint& size) { return size == sint(0); });
  const auto hand_coded = [&] {
    return BeamResult{hand_coded_optimizations(kernel, for_this_machine(clang)), 0, 0, 0, {}};
  };
  if (!variables_of(kernel).empty() || empty) return hand_coded();
  try {
    return Search(kernel, clang, options).run();
  } catch (const IndexError&) {  // synthetic positions are outside a GATHER's table
    return hand_coded();
  }
}

void install_search(std::function<void(const BeamProgress&)> progress) {
  set_opts_chooser(
      [progress = std::move(progress)](const LazyOpPtr& kernel, const ClangOptions& clang) {
        BeamOptions options;
        options.width = clang.beam;
        options.progress = progress;
        return search_opts(kernel, clang, options).opts;
      });
}

}  // namespace touchstone
