#include "touchstone/fuzz/engine/hunt.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "touchstone/base/error.h"
#include "touchstone/base/hash.h"
#include "touchstone/fuzz/engine/worker.h"

namespace touchstone::fuzz {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Extent, ops, dim)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Hunted, found, reached, area, cases, seconds, others, relation,
                                   drawn, text, detail, alone, extent, drawn_extent, shrink_runs,
                                   shrink_seconds)

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostShrinkSeconds = 120;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double seconds_of(const rusage& usage) {
  const auto in_seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
}

// Of this process and its reaped children, such as compilers.
double processor_seconds() {
  rusage self{}, children{};
  getrusage(RUSAGE_SELF, &self);
  getrusage(RUSAGE_CHILDREN, &children);
  return seconds_of(self) + seconds_of(children);
}

void be_silent() {  // assertions are verbose
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  dup2(nowhere, STDERR_FILENO);
  dup2(nowhere, STDOUT_FILENO);
}

/// The child's state, in memory shared with its parent, because the child may crash.
struct Log {
  static constexpr std::size_t kMost = std::size_t{1} << 20;  // of a text
  static constexpr std::size_t kMostAreas = 16;
  /// Progress of an area. A succeeding hunter continues from here.
  struct Progress {
    std::int64_t drawn;    // cases, up to the start of its last turn
    std::int64_t turns;    // completed
    std::int64_t reached;  // of these, reached the mutant's place
    double credit;         // 1 is a turn
  };
  enum class At : std::int32_t { Drawing, Asking, End };  // Asking: is the failure a find?

  std::atomic<At> at;
  std::atomic<std::uint64_t> beat;  // counts cases
  std::atomic<std::int64_t> cases;
  std::atomic<bool> reached;
  double seconds;
  Progress areas[kMostAreas];
  std::int64_t round;
  std::size_t area;    // whose turn it is
  std::int64_t place;  // of the current case in its batch; -1: preparing
  bool one_by_one;     // preparing them together ended a hunter
  char relation[64];
  char text[kMost], detail[4096];
};

template <std::size_t N>
void put(char (&to)[N], std::string_view what) {
  const std::size_t length = std::min(what.size(), N - 1);
  what.copy(to, length);
  to[length] = '\0';
}

class Hunter {
 public:
  /// Continues from the log, after the case that ended the previous hunter.
  Hunter(const std::vector<HuntArea>& plans, const HuntOptions& options, Log& log, double seconds)
      : plans_(plans), options_(options), log_(log), seconds_(seconds) {
    for (const HuntArea& plan : plans) areas_.push_back(plan.make());
  }

  void run() {
    bool found = log_.place >= 0 || log_.one_by_one ? turn(log_.area, log_.place + 1) : false;
    while (!found && !over()) {
      if (++log_.area >= areas_.size()) {
        log_.area = 0;
        ++log_.round;
      }
      found = its_turn(log_.area) && turn(log_.area, 0);
    }
  }

 private:
  // A place that no turn reaches now may be reached later.
  static constexpr double kLeastShare = 1.0 / 16;
  static constexpr std::int64_t kTrial = 2;  // turns of an area before its share counts

  bool over() const { return log_.cases >= options_.cases || processor_seconds() >= seconds_; }

  // The fraction of its turns that reach the mutant's place.
  double share(std::size_t a) const {
    const Log::Progress& p = log_.areas[a];
    return p.turns == 0 ? 0 : static_cast<double>(p.reached) / static_cast<double>(p.turns);
  }

  bool its_turn(std::size_t a) {
    if (log_.round % plans_[a].every != 0) return false;
    Log::Progress& p = log_.areas[a];
    double most = 0;
    for (std::size_t other = 0; other < areas_.size(); ++other) most = std::max(most, share(other));
    const bool known = options_.reached && most > 0 && p.turns >= kTrial;
    p.credit += known ? std::max(share(a) / most, kLeastShare) : 1;
    if (p.credit < 1) return false;
    p.credit -= 1;
    return true;
  }

  // Checks the cases of a turn from number `first` on. True if the hunt ends.
  bool turn(std::size_t a, std::int64_t first) {
    Area& area = *areas_[a];
    Log::Progress& progress = log_.areas[a];
    log_.text[0] = '\0';
    std::vector<std::string> batch;
    for (int i = 0; i < plans_[a].cases; ++i) {
      RandomChooser chooser(hash_mix(options_.seed, hash_bytes(area.name())),
                            static_cast<std::uint64_t>(progress.drawn + i));
      ++log_.beat;
      batch.push_back(area.draw(chooser));
    }
    batch.erase(batch.begin(), batch.begin() + first);
    ++log_.beat;
    log_.place = -1;
    if (!log_.one_by_one) area.prepare(batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      ++log_.beat;
      put(log_.text, batch[i]);
      log_.place = first + static_cast<std::int64_t>(i);
      ++log_.cases;
      if (log_.one_by_one) area.prepare(std::span(batch).subspan(i, 1));
      const Checked checked = area.check(batch[i], Effort::Sampled);
      if (checked.ending == Ending::Fail && is_find(checked.failure)) return true;
      if (processor_seconds() > seconds_) break;
    }
    log_.place = -1;
    log_.one_by_one = false;
    progress.drawn += plans_[a].cases;
    ++progress.turns;
    if (options_.reached && options_.reached()) {
      ++progress.reached;
      log_.reached = true;
    }
    return false;
  }

  bool is_find(const Failure& failure) {
    log_.seconds = processor_seconds();
    put(log_.relation, failure.relation);
    put(log_.detail, failure.detail);
    log_.at = Log::At::Asking;
    while (log_.at == Log::At::Asking) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return log_.at == Log::At::End;
  }

  const std::vector<HuntArea>& plans_;
  const HuntOptions& options_;
  Log& log_;
  double seconds_;
  std::vector<std::unique_ptr<Area>> areas_;
};

int in_hunter(const std::vector<HuntArea>& areas, const HuntOptions& options, Log& log,
              double seconds) {
  be_silent();
  if (options.begin) options.begin();
  int code = 0;
  try {
    Hunter(areas, options, log, seconds).run();
  } catch (const std::exception& e) {
    put(log.detail, e.what());
    code = 3;
  }
  if (options.reached && options.reached()) log.reached = true;
  log.seconds = processor_seconds();
  return code;
}

class SharedLog {
 public:
  SharedLog()
      : memory_(
            mmap(nullptr, sizeof(Log), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw SystemError("hunt: cannot share memory with a child process");
  }
  SharedLog(const SharedLog&) = delete;
  SharedLog& operator=(const SharedLog&) = delete;
  ~SharedLog() { munmap(memory_, sizeof(Log)); }
  Log& operator*() const { return *static_cast<Log*>(memory_); }

 private:
  void* memory_;
};

/// The hunt in the parent process: starts hunters and decides whether a failure is a find.
class Hunt {
 public:
  Hunt(const std::vector<HuntArea>& areas, const HuntOptions& options)
      : areas_(areas), options_(options), log_(*shared_) {}

  Hunted run() {
    if (areas_.size() > Log::kMostAreas) throw Error("hunt: at most 16 areas can take part");
    log_.area = areas_.size();  // the turn before the first
    log_.round = -1;
    log_.place = -1;
    // If a case that is no find ended a hunter, the next hunter starts after that case.
    while (!hunter()) {
    }
    result_.reached = !options_.reached || log_.reached || result_.found;
    if (!options_.begin) result_.found = result_.others > 0;
    if (result_.found) shrink();
    return std::move(result_);
  }

 private:
  // True if the hunt is over.
  bool hunter() {
    log_.at = Log::At::Drawing;
    process::Child child = process::Child::of_function(
        [&](int) { return in_hunter(areas_, options_, log_, options_.seconds - used_); },
        {.memory = options_.memory, .file = 0, .processor = std::chrono::seconds(0)});
    bool hung = false, found = false;
    std::uint64_t beat = 0;
    Clock::time_point last = Clock::now();
    while (!child.ends_before(Clock::now() + std::chrono::milliseconds(2))) {
      const std::uint64_t now = log_.beat;
      if (log_.at == Log::At::Asking) {
        found = is_find(log_.relation);
        if (found) result_.seconds = used_ + log_.seconds;
        log_.at = found ? Log::At::End : Log::At::Drawing;
        last = Clock::now();
      } else if (now != beat) {
        beat = now;
        last = Clock::now();
      } else if (since(last) > options_.case_seconds) {
        hung = true;
        break;
      }
    }
    const process::Ending ending = child.end();
    result_.cases = log_.cases;
    if (found) return true;
    const bool ended = hung || ending.exit_code() != 0;
    used_ += ended ? ending.seconds : log_.seconds;
    result_.seconds = used_;
    if (!ended) return true;
    // A hunter that dies while preparing several cases is restarted case by case: no case is to
    // blame yet.
    if (log_.place < 0 && !log_.one_by_one && log_.area < areas_.size()) {
      log_.one_by_one = true;
      return used_ >= options_.seconds;
    }
    return is_find(hung ? "hang" : "crash") || used_ >= options_.seconds;
  }

  // Whether the failure of the logged case is the mutant's: it passes without the mutant.
  bool is_find(const std::string& relation) {
    const std::string text = log_.text;
    const bool first = result_.relation.empty();
    if (options_.begin && !check_alone(areas_[log_.area], options_, false, text).empty()) {
      ++result_.others;
      return false;
    }
    result_.others += options_.begin ? 0 : 1;
    if (options_.begin || first) {
      result_.drawn = result_.text = text;
      result_.relation = relation;
      result_.detail = relation == "hang" || relation == "crash" ? "" : log_.detail;
      area_ = log_.area;
    }
    result_.found = options_.begin != nullptr;
    return result_.found;
  }

  // Runs in its own process, which may execute the cases it shrinks.
  void shrink() {
    std::string ended;
    const auto told = in_child(
        [&] {
          make_smaller();
          return line_of(result_);
        },
        kMostShrinkSeconds, 0, ended);
    if (!told) {
      result_.alone = false;
      result_.detail += " (shrinking it: " + ended + ")";
      return;
    }
    result_ = nlohmann::json::parse(*told);
  }

  void make_smaller() {
    const HuntArea& plan = areas_[area_];
    const double start = processor_seconds();
    const std::unique_ptr<Area> area = plan.make();
    result_.area = plan.name;
    if (result_.text.empty()) {  // preparing ended it
      result_.alone = false;
      return;
    }
    result_.drawn_extent = result_.extent = area->extent(result_.text);
    std::string detail;
    const std::string alone = check_alone(plan, options_, true, result_.text, &detail);
    result_.alone = !alone.empty();
    if (!result_.alone) return;
    result_.relation = alone;
    result_.detail = detail;
    // First keeps the same relation, checked alone, then any relation, because a mutant is one
    // fault; limited by compile time.
    shrink_by(*area, alone);
    if (options_.begin && processor_seconds() - start < kMostShrinkSeconds / 4)
      shrink_by(*area, {});
    result_.shrink_seconds = processor_seconds() - start;
  }

  // Shrinks while `relation` fails; empty: while any does.
  void shrink_by(Area& area, std::string_view relation) {
    const ShrunkCase shrunk = shrink_case(
        area, result_.text,
        [&](const std::string& candidate) {
          std::string detail;
          const std::string failed =
              check_alone(areas_[area_], options_, true, candidate, &detail, relation);
          if (failed.empty() || (!relation.empty() && failed != relation)) return false;
          if (options_.begin && !check_alone(areas_[area_], options_, false, candidate).empty())
            return false;
          result_.relation = failed;
          result_.detail = detail;
          return true;
        },
        options_.most_shrink_runs - result_.shrink_runs);
    result_.text = shrunk.text;
    result_.extent = area.extent(shrunk.text);
    result_.shrink_runs += shrunk.runs;
  }

  const std::vector<HuntArea>& areas_;
  const HuntOptions& options_;
  const SharedLog shared_;
  Log& log_;
  Hunted result_;
  std::size_t area_ = 0;
  double used_ = 0;  // seconds of finished hunters
};

}  // namespace

std::string check_alone(const HuntArea& area, const HuntOptions& options, bool with,
                        const std::string& text, std::string* detail, std::string_view relation) {
  const bool ends = relation == "crash" || relation == "hang";  // wherever it does
  const auto check = [&] {
    be_silent();
    if (with && options.begin) options.begin();
    return area.make()->check_for(text, ends ? std::string_view() : relation);
  };
  try {
    const Checked c = checked_in_child(check, std::min(options.case_seconds, 10.0), options.memory);
    if (c.ending != Ending::Fail) return {};
    if (detail != nullptr) *detail = c.failure.detail;
    return c.failure.relation;
  } catch (const ParseError&) {
    return {};  // no valid case
  }
}

Hunted hunt(const std::vector<HuntArea>& areas, const HuntOptions& options) {
  return Hunt(areas, options).run();
}

}  // namespace touchstone::fuzz
