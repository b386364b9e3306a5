#include "touchstone/fuzz/hunt.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "touchstone/base/error.h"
#include "touchstone/base/hash.h"

namespace touchstone::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// What the child is at, in memory shared with its parent: it may not live to tell.
struct Log {
  static constexpr std::size_t kMost = std::size_t{1} << 20;  // of a text
  enum class At : std::int32_t { Drawing, Found, Done };

  std::atomic<At> at;
  std::atomic<std::uint64_t> beat;  // counts cases and shrinking steps
  std::atomic<std::int64_t> cases;
  std::atomic<bool> reached;
  double seconds, shrink_seconds;
  int runs;
  Measure measure;
  char area[64], relation[64];
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
  Hunter(const std::vector<HuntArea>& areas, const HuntOptions& options, Log& log)
      : options_(options), log_(log) {
    for (const HuntArea& area : areas) {
      areas_.push_back(area.make());
      turns_.push_back(area.turn);
      drawn_.push_back(0);
    }
  }

  void run() {
    while (log_.cases < options_.cases && since(begin_) < options_.seconds)
      for (std::size_t a = 0; a < areas_.size(); ++a)
        if (turn(a)) return;
  }

 private:
  bool turn(std::size_t a) {
    Area& area = *areas_[a];
    std::vector<std::string> batch;
    for (int i = 0; i < turns_[a]; ++i) {
      RandomChooser chooser(hash_mix(options_.seed, hash_bytes(area.name())),
                            static_cast<std::uint64_t>(drawn_[a]++));
      ++log_.beat;
      batch.push_back(area.draw(chooser));
    }
    ++log_.beat;
    put(log_.area, area.name());
    log_.text[0] = '\0';
    area.prepare(batch);
    for (const std::string& text : batch) {
      ++log_.beat;
      put(log_.text, text);
      ++log_.cases;
      if (const Checked checked = area.check(text, Effort::Sampled);
          checked.ending == Ending::Fail) {
        found(area, text, checked.failure);
        return true;
      }
      if (since(begin_) > options_.seconds) return false;
    }
    return false;
  }

  void found(Area& area, const std::string& text, const Failure& failure) {
    log_.seconds = since(begin_);
    put(log_.relation, failure.relation);
    put(log_.detail, failure.detail);
    log_.measure = area.measure(text);
    log_.at = Log::At::Found;
    const Clock::time_point start = Clock::now();
    Failure last = failure;
    const ShrunkCase shrunk = shrink_case(
        area, text,
        [&](const std::string& candidate) {
          ++log_.beat;
          const Checked checked = area.check(candidate, Effort::Full);
          const bool fails =
              checked.ending == Ending::Fail && checked.failure.relation == failure.relation;
          if (fails) last = checked.failure;
          return fails;
        },
        options_.most_shrink_runs);
    log_.runs = shrunk.runs;
    log_.shrink_seconds = since(start);
    log_.measure = area.measure(shrunk.text);
    put(log_.text, shrunk.text);
    put(log_.detail, last.detail);
  }

  const HuntOptions& options_;
  Log& log_;
  std::vector<std::unique_ptr<Area>> areas_;
  std::vector<int> turns_;
  std::vector<std::int64_t> drawn_;
  const Clock::time_point begin_ = Clock::now();
};

[[noreturn]] void in_child(const std::vector<HuntArea>& areas, const HuntOptions& options, Log& log,
                           pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const rlimit memory{options.memory, options.memory}, core{0, 0};
  if (options.memory > 0) setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &core);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);  // what an assertion says
  dup2(nowhere, STDERR_FILENO);
  dup2(nowhere, STDOUT_FILENO);
  if (options.begin) options.begin();
  try {
    Hunter(areas, options, log).run();
  } catch (const std::exception& e) {
    put(log.detail, e.what());
    if (options.reached) log.reached = options.reached();
    _exit(3);
  }
  if (options.reached) log.reached = options.reached();
  log.at = log.at == Log::At::Found ? Log::At::Found : Log::At::Done;
  _exit(0);
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

}  // namespace

Hunted hunt(const std::vector<HuntArea>& areas, const HuntOptions& options) {
  const SharedLog shared;
  Log& log = *shared;
  const pid_t parent = getpid();
  const Clock::time_point begin = Clock::now();
  const pid_t child = fork();
  if (child < 0) throw SystemError("hunt: cannot start a child process");
  if (child == 0) in_child(areas, options, log, parent);
  int status = 0;
  bool hung = false;
  std::uint64_t beat = 0;
  Clock::time_point last = begin;
  while (waitpid(child, &status, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (const std::uint64_t now = log.beat; now != beat) {
      beat = now;
      last = Clock::now();
    } else if (since(last) > options.case_seconds) {
      hung = true;
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
  }
  Hunted result;
  result.cases = log.cases;
  result.seconds = since(begin);
  const bool ended = hung || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  if (log.at == Log::At::Found) {
    result.found = true;
    result.relation = log.relation;
    result.seconds = log.seconds;
    result.shrink_seconds = log.shrink_seconds;
    result.shrink_runs = log.runs;
    result.measure = log.measure;
  } else if (ended) {
    result.found = true;
    result.relation = hung ? "hang" : "crash";
  } else {
    result.reached = log.reached;
    return result;
  }
  result.area = log.area;
  result.text = log.text;
  result.detail = log.detail;
  return result;
}

}  // namespace touchstone::fuzz
