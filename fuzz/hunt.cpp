#include "touchstone/fuzz/hunt.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "touchstone/base/error.h"
#include "touchstone/base/hash.h"
#include "touchstone/fuzz/worker.h"

namespace touchstone::fuzz {
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

// Of this process and of those it has waited for, as compilers.
double processor_seconds() {
  rusage self{}, children{};
  getrusage(RUSAGE_SELF, &self);
  getrusage(RUSAGE_CHILDREN, &children);
  return seconds_of(self) + seconds_of(children);
}

void be_silent() {  // assertions have much to say
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDERR_FILENO);
  dup2(nowhere, STDOUT_FILENO);
}

/// What the child is at, in memory shared with its parent: it may not live to tell.
struct Log {
  static constexpr std::size_t kMost = std::size_t{1} << 20;  // of a text
  enum class At : std::int32_t { Drawing, Asking, End };      // Asking: is what failed a find?

  std::atomic<At> at;
  std::atomic<std::uint64_t> beat;  // counts cases
  std::atomic<std::int64_t> cases;
  std::atomic<bool> reached;
  double seconds;
  std::size_t area;
  char relation[64];
  char text[kMost], detail[4096];
};

template <std::size_t N>
void put(char (&to)[N], std::string_view what) {
  const std::size_t length = std::min(what.size(), N - 1);
  std::memcpy(to, what.data(), length);
  to[length] = '\0';
}

class Hunter {
 public:
  /// Of the cases, the first `skip` are drawn only.
  Hunter(const std::vector<HuntArea>& areas, const HuntOptions& options, Log& log, double seconds,
         std::int64_t skip)
      : options_(options), log_(log), seconds_(seconds), skip_(skip), plans_(areas) {
    for (const HuntArea& area : areas) {
      areas_.push_back(area.make());
      drawn_.push_back(0);
    }
  }

  void run() {
    for (std::int64_t round = 0; !over(); ++round)
      for (std::size_t a = 0; a < areas_.size(); ++a)
        if (round % plans_[a].every == 0 && turn(a)) return;
  }

 private:
  bool over() const { return log_.cases >= options_.cases || processor_seconds() >= seconds_; }

  // True where the hunt ends.
  bool turn(std::size_t a) {
    Area& area = *areas_[a];
    const int turn = plans_[a].turn;
    if (skip_ >= turn) {
      drawn_[a] += turn;
      skip_ -= turn;
      log_.cases += turn;
      return false;
    }
    std::vector<std::string> batch;
    for (int i = 0; i < turn; ++i) {
      RandomChooser chooser(hash_mix(options_.seed, hash_bytes(area.name())),
                            static_cast<std::uint64_t>(drawn_[a]++));
      ++log_.beat;
      batch.push_back(area.draw(chooser));
    }
    ++log_.beat;
    log_.area = a;
    log_.text[0] = '\0';
    area.prepare(batch);
    for (const std::string& text : batch) {
      ++log_.beat;
      put(log_.text, text);
      ++log_.cases;
      if (skip_ > 0) {
        --skip_;
        continue;
      }
      const Checked checked = area.check(text, Effort::Sampled);
      if (checked.ending == Ending::Fail && is_find(checked.failure)) return true;
      if (processor_seconds() > seconds_) return false;
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

  const HuntOptions& options_;
  Log& log_;
  double seconds_;
  std::int64_t skip_;
  const std::vector<HuntArea>& plans_;
  std::vector<std::unique_ptr<Area>> areas_;
  std::vector<std::int64_t> drawn_;
};

[[noreturn]] void in_hunter(const std::vector<HuntArea>& areas, const HuntOptions& options,
                            Log& log, pid_t parent, double seconds, std::int64_t skip) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const rlimit memory{options.memory, options.memory}, core{0, 0};
  if (options.memory > 0) setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &core);
  be_silent();
  if (options.begin) options.begin();
  int code = 0;
  try {
    Hunter(areas, options, log, seconds, skip).run();
  } catch (const std::exception& e) {
    put(log.detail, e.what());
    code = 3;
  }
  if (options.reached) log.reached = options.reached();
  log.seconds = processor_seconds();
  _exit(code);
}

class SharedLog {
 public:
  SharedLog()
      : memory_(
            mmap(nullptr, sizeof(Log), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw SystemError("hunt: no memory to share with a child process");
  }
  SharedLog(const SharedLog&) = delete;
  SharedLog& operator=(const SharedLog&) = delete;
  ~SharedLog() { munmap(memory_, sizeof(Log)); }
  Log& operator*() const { return *static_cast<Log*>(memory_); }

 private:
  void* memory_;
};

/// A hunt as its parent process sees it: starts hunters, and says whether what they find is one.
class Hunt {
 public:
  Hunt(const std::vector<HuntArea>& areas, const HuntOptions& options)
      : areas_(areas), options_(options), log_(*shared_) {}

  Hunted run() {
    // A hunter that a case ended which is no find is followed by one that begins behind that case.
    for (std::int64_t skip = 0; !hunter(skip);) skip = std::max(result_.cases, skip + 1);
    result_.reached = !options_.reached || log_.reached || result_.found;
    if (!options_.begin) result_.found = result_.others > 0;
    if (result_.found) shrink();
    return std::move(result_);
  }

 private:
  // True where that was all of it.
  bool hunter(std::int64_t skip) {
    log_.at = Log::At::Drawing;
    log_.cases = 0;
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) throw SystemError("hunt: cannot start a child process");
    if (child == 0) in_hunter(areas_, options_, log_, parent, options_.seconds - used_, skip);
    int status = 0;
    rusage usage{};
    bool hung = false, found = false;
    std::uint64_t beat = 0;
    Clock::time_point last = Clock::now();
    while (wait4(child, &status, WNOHANG, &usage) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
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
        kill(child, SIGKILL);
        wait4(child, &status, 0, &usage);
        break;
      }
    }
    result_.cases = log_.cases;
    if (found) return true;
    const bool ended = hung || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    used_ += ended ? seconds_of(usage) : log_.seconds;
    result_.seconds = used_;
    return !ended || is_find(hung ? "hang" : "crash") || used_ >= options_.seconds;
  }

  // A failure of the case in the log: the mutant's, where it passes without.
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

  // In a process of its own, which may run what it makes smaller.
  void shrink() {
    using nlohmann::json;
    std::string ended;
    const auto told = in_child(
        [&] {
          make_smaller();
          const Hunted& r = result_;
          return json({{"area", r.area},
                       {"relation", r.relation},
                       {"text", r.text},
                       {"detail", r.detail},
                       {"alone", r.alone},
                       {"ops", r.extent.ops},
                       {"dim", r.extent.dim},
                       {"drawn ops", r.drawn_extent.ops},
                       {"drawn dim", r.drawn_extent.dim},
                       {"runs", r.shrink_runs},
                       {"seconds", r.shrink_seconds}})
              .dump(-1, ' ', false, json::error_handler_t::replace);
        },
        kMostShrinkSeconds, 0, ended);
    if (!told) {
      result_.alone = false;
      result_.detail += " (shrinking it: " + ended + ")";
      return;
    }
    const json r = json::parse(*told);
    result_.area = r["area"];
    result_.relation = r["relation"];
    result_.text = r["text"];
    result_.detail = r["detail"];
    result_.alone = r["alone"];
    result_.extent = {r["ops"], r["dim"]};
    result_.drawn_extent = {r["drawn ops"], r["drawn dim"]};
    result_.shrink_runs = r["runs"];
    result_.shrink_seconds = r["seconds"];
  }

  void make_smaller() {
    const HuntArea& plan = areas_[area_];
    const Clock::time_point start = Clock::now();
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
    const ShrunkCase shrunk = shrink_case(
        *area, result_.text,
        [&](const std::string& candidate) {
          std::string said;
          if (check_alone(plan, options_, true, candidate, &said) != alone) return false;
          if (options_.begin && !check_alone(plan, options_, false, candidate).empty())
            return false;
          result_.detail = said;
          return true;
        },
        options_.most_shrink_runs);
    result_.text = shrunk.text;
    result_.extent = area->extent(shrunk.text);
    result_.shrink_runs = shrunk.runs;
    result_.shrink_seconds = since(start);
  }

  const std::vector<HuntArea>& areas_;
  const HuntOptions& options_;
  const SharedLog shared_;
  Log& log_;
  Hunted result_;
  std::size_t area_ = 0;
  double used_ = 0;  // seconds of hunters that ended
};

}  // namespace

std::string check_alone(const HuntArea& area, const HuntOptions& options, bool with,
                        const std::string& text, std::string* detail) {
  const auto work = [&]() -> std::string {
    be_silent();
    if (with && options.begin) options.begin();
    try {
      const Checked checked = area.make()->check(text, Effort::Full);
      if (checked.ending != Ending::Fail) return {};
      return checked.failure.relation + '\0' + checked.failure.detail;
    } catch (const ParseError&) {
      return {};  // no case at all
    }
  };
  std::string ended;
  const auto told = in_child(work, std::min(options.case_seconds, 10.0), options.memory, ended);
  if (!told) {
    if (detail != nullptr) *detail = ended;
    return ended == "hang" ? "hang" : "crash";
  }
  const std::size_t cut = told->find('\0');
  if (detail != nullptr && cut != told->npos) *detail = told->substr(cut + 1);
  return told->substr(0, cut);
}

Hunted hunt(const std::vector<HuntArea>& areas, const HuntOptions& options) {
  return Hunt(areas, options).run();
}

}  // namespace touchstone::fuzz
